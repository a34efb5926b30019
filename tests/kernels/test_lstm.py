"""Each strategy of recurrent layers equals torch's layers over each source alone, in outputs, states and gradients."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from mt.device import choose
from mt.kernels import linear, lstm
from mt.kernels.linear import product_loop
from mt.kernels.lstm import GRU, LSTM, LayerState, RecurrentLayers, step_loop
from mt.trees import map_tensors
from tests.marks import combined

LAYERS = {"lstm": (LSTM, nn.LSTM), "gru": (GRU, nn.GRU)}
WHOLE = [4, 4, 4]
PADDED = [9, 1, 4]


def layers_of(cell, count, *, both=False, dtype=torch.float64, units=7) -> RecurrentLayers:
    torch.manual_seed(count)
    return LAYERS[cell][0](5, units, count, bidirectional=both).to(dtype).eval()


def example(cell, count, lengths, dtype=torch.float64, units=7) -> tuple[Tensor, LayerState, Tensor]:
    """Inputs, a state and the mask."""
    torch.manual_seed(sum(lengths))
    state = tuple(torch.randn(len(lengths), count, units, dtype=dtype) for _ in range(2 if cell == "lstm" else 1))
    inputs = torch.randn(len(lengths), max(lengths), 5, dtype=dtype)
    return inputs, state, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def by_torch(layers: RecurrentLayers) -> nn.RNNBase:
    """torch's layers of the same weights."""
    plain = dict(LAYERS.values())[type(layers)](
        5, layers.hidden_size, layers.num_layers, bidirectional=layers.bidirectional
    )
    plain.double().load_state_dict(layers.state_dict())
    return plain


def alone(plain: nn.RNNBase, inputs: Tensor, state: LayerState | None, mask: Tensor) -> tuple[Tensor, list[Tensor]]:
    """What torch's layers give for each source by itself."""
    outputs = []
    states = []
    for row, length in enumerate(mask.sum(1).tolist()):
        before = None if state is None else tuple(part[row] for part in state)
        values, after = plain(inputs[row, :length], before[0] if before and len(before) == 1 else before)
        outputs.append(nn.functional.pad(values, (0, 0, 0, len(mask[row]) - length)))
        states.append((after,) if isinstance(after, Tensor) else after)
    return torch.stack(outputs), [torch.stack(part) for part in zip(*states, strict=True)]


STRATEGIES = [
    # name, lengths, whether from a state on, both directions
    ("whole", WHOLE, False, False),
    ("whole", WHOLE, True, False),
    ("whole", WHOLE, False, True),
    ("packed", PADDED, False, False),
    ("packed", PADDED, True, False),
    ("packed", PADDED, False, True),
    ("each_direction", PADDED, False, True),
    ("each_direction", WHOLE, False, True),
    ("cell_by_cell", WHOLE, True, False),
    ("cell_by_cell", [1], True, False),
]


@combined(str, cell=LAYERS, strategy=STRATEGIES, count=[1, 3], dropped=[0.0, 0.4])
def test_strategies(cell, strategy, count, dropped, monkeypatch):
    """In training, torch's layers with some weights between states at zero; else with all of them, as before."""
    name, lengths, goes_on, both = strategy
    layers = layers_of(cell, count, both=both)
    layers.recurrent_dropout = dropped
    inputs, state, mask = example(cell, count, lengths)
    inputs.requires_grad_()
    before = state if goes_on else None
    monkeypatch.setattr(layers, "strategy", lambda *_: getattr(layers, name))
    whole = layers(inputs, before, mask)[0]
    plain = by_torch(layers)
    kept = {}
    if dropped and name != "cell_by_cell":  # which is not of training
        layers.train()
        torch.manual_seed(8)
        for weight in (weight for weight in plain._flat_weights_names if weight.startswith("weight_hh")):
            kept[weight] = dropout(torch.ones_like(getattr(plain, weight)), dropped)
            getattr(plain, weight).data *= kept[weight]
    torch.manual_seed(8)
    actual, after = layers(inputs, before, mask)
    expected, states = alone(plain, inputs, before, mask)
    torch.testing.assert_close(actual, expected)
    # Of both directions, the hidden vectors of the top layer are known.
    for ours, theirs in [*zip(after, states, strict=not both)][: 1 if both else None]:
        torch.testing.assert_close(*((part[:, -2:] if both else part) for part in (ours, theirs)))
    gradients = torch.autograd.grad(actual.square().sum(), [inputs, *layers.parameters()])
    expected_gradients = torch.autograd.grad(expected.square().sum(), [inputs, *plain.parameters()])
    for weight, ours, theirs in zip(("", *plain._flat_weights_names), gradients, expected_gradients, strict=True):
        torch.testing.assert_close(ours, theirs * kept.get(weight, 1))
    assert torch.equal(actual, whole) != bool(kept)
    assert torch.equal(layers.eval()(inputs, before, mask)[0], whole)


@pytest.mark.skipif(product_loop() is None, reason="numba cannot compile here")
@combined(cell=LAYERS, rows=[1, 5])
@torch.no_grad()
def test_cells_of_few_rows(cell: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop for a few rows, which AMD's processors use, on any processor; with states of any layout and type.

    It has 128 units, the fewest for which it is used, for two threads. Smaller states lie so close in memory that the
    loop takes its plain form instead of its vectorised one, and the two round differently."""
    monkeypatch.setattr(lstm, "are_few", lambda rows, weight: True)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    layers = layers_of(cell, 2, dtype=torch.float32, units=128)
    inputs, state, mask = example(cell, 2, [3] * rows, torch.float32, units=128)
    actual, after = layers.cell_by_cell(inputs, state)
    expected, states = alone(by_torch(layers), inputs.double(), tuple(part.double() for part in state), mask)
    for ours, theirs in zip((actual, *after), (expected, *states), strict=True):
        torch.testing.assert_close(ours.double(), theirs, atol=1e-6, rtol=1e-5)
    scattered = tuple(torch.stack((part, part), -1)[..., 0].double() for part in state)
    again, after_again = layers.cell_by_cell(torch.stack((inputs, inputs), -1)[..., 0], scattered)
    assert all(torch.equal(*parts) for parts in zip((actual, *after), (again, *after_again), strict=True))
    # Two threads give the same bits as one, and so does each row by itself.
    monkeypatch.setattr(linear, "THREAD", 1)
    shared, after_shared = layers.cell_by_cell(inputs, state)
    assert all(torch.equal(*parts) for parts in zip((actual, *after), (shared, *after_shared), strict=True))
    first, _ = layers.cell_by_cell(inputs[:1], tuple(part[:1] for part in state))
    assert torch.equal(first, actual[:1])


@pytest.mark.skipif(step_loop() is None, reason="numba cannot compile here")
@torch.no_grad()
def test_a_step_of_large_and_of_tiny_numbers() -> None:
    """Gates are 0, 1 or what they should be, and NaN is not hidden."""
    vectors = torch.tensor([[1e4], [-1e4], [0.0], [torch.nan]])
    zeros = torch.zeros(4, 1)
    weights = torch.ones(4, 1), torch.ones(4, 1), torch.zeros(4), torch.zeros(4)
    hidden, cell = lstm.lstm_step(vectors, (zeros, torch.full((4, 1), 2.0)), weights)
    torch.testing.assert_close(cell[:, 0], torch.tensor([3.0, 0.0, 1.0, torch.nan]), equal_nan=True)
    torch.testing.assert_close(hidden[:, 0], torch.tensor([0.9950548, 0.0, 0.3807971, torch.nan]), equal_nan=True)


@pytest.mark.parametrize(("size", "rows", "units"), [(4, 2, 7), (5, 3, 7), (5, 2, 6)])
@pytest.mark.skipif(step_loop() is None, reason="numba cannot compile here")
@torch.no_grad()
def test_a_step_that_does_not_fit_is_refused(size: int, rows: int, units: int) -> None:
    weights = torch.zeros(28, 5), torch.zeros(28, 7), torch.zeros(28), torch.zeros(28)
    with pytest.raises(ValueError, match="do not fit"):
        lstm.lstm_step(torch.zeros(2, size), (torch.zeros(2, 7), torch.zeros(rows, units)), weights)


@pytest.mark.parametrize("cell", LAYERS)
@torch.no_grad()
def test_cells_lose_nothing_to_autocast(cell: str) -> None:
    layers = layers_of(cell, 1, dtype=torch.float32)
    inputs, state, _ = example(cell, 1, [3, 3], torch.float32)
    expected, _ = layers.whole(inputs, state)
    with torch.autocast("cpu", torch.bfloat16):
        actual, _ = layers(inputs.bfloat16().float(), state)
        rounded, _ = layers(inputs.bfloat16(), state)
    assert actual.dtype == rounded.dtype == torch.float32
    assert torch.equal(actual, rounded)
    torch.testing.assert_close(actual, expected, atol=0.02, rtol=0.02)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is here")
@pytest.mark.parametrize("cell", LAYERS)
@torch.no_grad()
def test_on_a_gpu(cell: str) -> None:
    """Each weight is in memory of its own, so that it can be saved, and a single step is a cell."""
    layers = layers_of(cell, 2, dtype=torch.float32).cuda()
    assert all(weight.untyped_storage().nbytes() == weight.nbytes for weight in layers.parameters())
    inputs, state, _ = map_tensors(lambda part: part.to(choose("cuda")), example(cell, 2, [1, 1], torch.float32))
    assert layers.strategy(inputs, state, None) == layers.cell_by_cell
    for step, whole in zip(layers(inputs, state)[1], layers.whole(inputs, state)[1], strict=True):
        torch.testing.assert_close(step, whole)
