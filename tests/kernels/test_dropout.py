"""Dropout drops the share that it should, each element by itself, by torch's generator."""

import pytest
import torch
from torch import Tensor

from mt.kernels.dropout import Dropout


def dropped(p: float, *shape: int, seed: int = 1) -> Tensor:
    torch.manual_seed(seed)
    return Dropout(p)(torch.ones(shape))


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.999999])
def test_the_share_of_zeros_and_the_mean(p: float) -> None:
    outputs = dropped(p, 1000, 1001)
    assert (outputs == 0).float().mean().item() == pytest.approx(p, abs=2e-3)
    kept = outputs[outputs != 0]
    assert len(kept) and (kept == kept[0]).all()
    assert kept[0].item() == pytest.approx(1 / (1 - p), rel=1e-4) or p > 0.99


def test_neighbours_are_dropped_independently() -> None:
    zeros = dropped(0.5, 1 << 16) == 0
    for distance in range(1, 9):  # among them the four of one number
        both = (zeros[distance:] & zeros[:-distance]).float().mean().item()
        assert both == pytest.approx(0.25, abs=0.01), distance


def test_a_seed_gives_the_same() -> None:
    assert torch.equal(dropped(0.3, 7, 5), dropped(0.3, 7, 5))
    assert not torch.equal(dropped(0.3, 7, 5), dropped(0.3, 7, 5, seed=2))


def test_gradients_are_dropped_alike() -> None:
    inputs = torch.randn(50, 3).requires_grad_()
    outputs = Dropout(0.4)(inputs)
    outputs.sum().backward()
    assert inputs.grad is not None
    torch.testing.assert_close(inputs.grad, (outputs / inputs).detach())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_types_and_sizes_stay(dtype: torch.dtype) -> None:
    for shape in ((0, 3), (1,), (2, 3, 5)):
        outputs = Dropout(0.4)(torch.ones(shape, dtype=dtype))
        assert (outputs.shape, outputs.dtype) == (shape, dtype)


def test_without_training_or_a_share_nothing_changes() -> None:
    inputs = torch.ones(5)
    assert torch.equal(Dropout(0.5).eval()(inputs), inputs)
    assert torch.equal(Dropout(0.0)(inputs), inputs)
