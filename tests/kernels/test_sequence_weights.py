"""Losses in which each sequence counts by a weight of its own."""

import pytest
import torch
from torch import Tensor

from mt.kernels.cross_entropy import Mixture, _TokenLosses, token_losses
from tests.kernels.test_cross_entropy import mixed, problem


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("mixing", [False, True], ids=["softmax", "mixture"])
@pytest.mark.parametrize("rows", [5, 300])
def test_sequences_count_by_their_weights(rows: int, mixing: bool, smoothing: float) -> None:
    """As the weighted sum of the losses of single sequences, with its gradients; what each token costs stays."""
    output, readouts, targets, mask = problem(rows)
    parts = [part.requires_grad_() for part in mixed(rows)[:2]]
    leaves = [readouts.requires_grad_(), output.weight, output.bias, *(parts if mixing else [])]
    weights = torch.tensor([0.7, -1.3])

    def losses(sequence: slice, of_sequences: Tensor | None = None) -> tuple[Tensor, Tensor]:
        mixture = Mixture(*(part[sequence] for part in parts)) if mixing else None
        chosen = [part[sequence] for part in (targets, mask)]
        given = [readouts[sequence], output.weight, output.bias, *chosen]
        return token_losses(*given, of_sequences, smoothing=smoothing, mixture=mixture)

    loss, each = losses(slice(None), weights)
    alone = [losses(slice(row, row + 1)) for row in range(2)]
    expected = sum(weight * total for weight, (total, _) in zip(weights, alone, strict=True))
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-3)
    torch.testing.assert_close(each, torch.cat([one for _, one in alone]))
    actual = torch.autograd.grad(loss, leaves)
    for ours, theirs in zip(actual, torch.autograd.grad(expected, leaves), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=2e-4)
        assert ours.abs().max() > 0.01


def test_padding_that_is_computed_has_no_part_in_a_weighted_sum() -> None:
    output, readouts, targets, mask = problem(6)
    readouts.requires_grad_()
    weights = torch.tensor([0.7, -1.3])
    given = (output.weight, output.bias)
    expected, _ = token_losses(readouts, *given, targets, mask, weights, smoothing=0.1)
    rows = (weights[:, None] * mask).flatten()
    computed = (readouts.flatten(0, 1), *given, targets.flatten(), mask.flatten().float(), rows, None, 0.1, 0.0, True)
    actual, _ = _TokenLosses.apply(*computed)
    torch.testing.assert_close(actual, expected)
    for ours, theirs in zip(*(torch.autograd.grad(loss, [readouts]) for loss in (actual, expected)), strict=True):
        torch.testing.assert_close(ours, theirs)
