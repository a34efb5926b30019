"""A few steps cell by cell are what whole layers give."""

import pytest
import torch
from torch import Tensor, nn

from mt.kernels.lstm import FEW, run_layers

LAYERS = {"lstm": nn.LSTM, "gru": nn.GRU}


def made(
    cell: str, rows: int, steps: int, *, layers: int = 1, dtype: torch.dtype = torch.float32
) -> tuple[nn.RNNBase, Tensor, tuple[Tensor, ...]]:
    torch.manual_seed(rows + 10 * steps)
    module = LAYERS[cell](5, 7, layers, batch_first=True, dtype=dtype).eval()
    state = tuple(torch.randn(layers, rows, 7, dtype=dtype) for _ in range(2 if cell == "lstm" else 1))
    return module, torch.randn(rows, steps, 5, dtype=dtype), state


def whole(module: nn.RNNBase, inputs: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
    outputs, after = module(inputs, state if len(state) == 2 else state[0])
    return outputs, after if len(state) == 2 else (after,)


def refuse_whole_layers(module: nn.RNNBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("whole layers were computed")

    monkeypatch.setattr(module, "forward", refuse)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize(("rows", "steps"), [(1, 1), (1, 6), (4, 1), (3, 5), (FEW + 3, 1)])
@pytest.mark.parametrize("cell", LAYERS)
@torch.no_grad()
def test_cells_are_the_layers(
    cell: str, rows: int, steps: int, layers: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, inputs, state = made(cell, rows, steps, layers=layers, dtype=dtype)
    expected, expected_state = whole(module, inputs, state)
    refuse_whole_layers(module, monkeypatch)
    found, found_state = run_layers(module, inputs, state)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found_state, expected_state)


@pytest.mark.parametrize("cell", LAYERS)
@torch.no_grad()
def test_cells_lose_nothing_to_autocast(cell: str) -> None:
    module, inputs, state = made(cell, 2, 3)
    expected, _ = whole(module, inputs, state)
    with torch.autocast("cpu", torch.bfloat16):
        found, _ = run_layers(module, inputs.bfloat16().float(), state)
        rounded, _ = run_layers(module, inputs.bfloat16(), state)
    assert found.dtype == rounded.dtype == torch.float32
    assert torch.equal(found, rounded)
    torch.testing.assert_close(found, expected, atol=0.02, rtol=0.02)


@pytest.mark.parametrize("cell", LAYERS)
def test_many_steps_a_gradient_and_a_first_state_are_left_to_the_layers(cell: str) -> None:
    module, inputs, state = made(cell, 2, 3)
    outputs, _ = run_layers(module, inputs, state)
    assert outputs.grad_fn is not None
    # With a gradient, too: on some processors oneDNN's layers round otherwise without.
    assert torch.equal(outputs, whole(module, inputs, state)[0])
    with torch.no_grad():
        many, long, first = made(cell, 2, FEW)
        assert torch.equal(run_layers(many, long, first)[0], whole(many, long, first)[0])
        zeros = tuple(map(torch.zeros_like, state))
        torch.testing.assert_close(run_layers(module, inputs, None), run_layers(module, inputs, zeros))


@torch.no_grad()
def test_both_directions_are_left_to_the_layers() -> None:
    module = nn.LSTM(5, 7, bidirectional=True, batch_first=True).eval()
    inputs, state = torch.randn(1, 2, 5), (torch.randn(2, 1, 7), torch.randn(2, 1, 7))
    assert torch.equal(run_layers(module, inputs, state)[0], module(inputs, state)[0])
