"""Predictions that are to agree, against sums over the whole vocabulary in float64."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mt.kernels.cross_entropy import Mixture, _TokenLosses, distance, interleave_halves, token_losses
from tests.kernels.test_cross_entropy import EACH, mixed, problem

Problem = tuple[nn.Linear, Tensor, Tensor, Tensor]


def twice(rows: int) -> Problem:
    """Two sequences, each twice, with readouts that differ."""
    output, readouts, targets, mask = problem(rows)
    mask[0, 0] = True
    other = readouts + 0.3 * torch.randn(readouts.shape, generator=torch.Generator().manual_seed(1))
    return output, torch.cat((readouts, other)), targets.repeat(2, 1), mask.repeat(2, 1)


def truth(output: nn.Linear, readouts: Tensor, targets: Tensor, mask: Tensor, r_drop_weight: float) -> Tensor:
    """The cross entropy of both halves, and their divergence token by token, in float64."""
    log_probs = nn.functional.linear(readouts, output.weight.double(), output.bias.double()).log_softmax(-1)
    total = cross_entropy(log_probs[mask], targets[mask], label_smoothing=0.1, reduction="sum")
    for first, second, real in zip(*log_probs.chunk(2), mask, strict=False):
        for log_p, log_q in zip(first[real], second[real], strict=True):
            there = (log_p.exp() * (log_p - log_q)).sum()
            back = (log_q.exp() * (log_q - log_p)).sum()
            total = total + r_drop_weight * (there + back) / 2
    return total


# A block has 256 rows on a CPU: less than one, and several.
@pytest.mark.parametrize("rows", [1, 3, 200, 700])
def test_the_sum_over_the_vocabulary_with_its_gradients(rows: int) -> None:
    output, readouts, targets, mask = twice(rows)
    leaves = [readouts.requires_grad_(), output.weight, output.bias]
    loss, each = token_losses(readouts, *leaves[1:], targets, mask, smoothing=0.1, r_drop_weight=3.0)
    exact = [leaf.detach().double().requires_grad_() for leaf in leaves]
    layer = nn.Linear(6, 11)
    layer.weight, layer.bias = (nn.Parameter(leaf) for leaf in exact[1:])
    expected = truth(layer, exact[0], targets, mask, 3.0)
    torch.testing.assert_close(loss.double(), expected.detach(), atol=EACH * int(mask.sum()), rtol=1e-6)
    theirs = torch.autograd.grad(2.5 * expected, [exact[0], layer.weight, layer.bias])
    for our_part, their_part in zip(torch.autograd.grad(2.5 * loss, leaves), theirs, strict=True):
        torch.testing.assert_close(our_part.double(), their_part, atol=3e-6 * float(their_part.abs().max()), rtol=1e-5)
    # What a token costs is as without.
    usual = token_losses(readouts, *leaves[1:], targets, mask)[1]
    torch.testing.assert_close(each, usual, atol=1e-5, rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 3, 200, 700])
def test_shares_of_a_mixture_with_their_gradients(rows: int) -> None:
    """What differs are the softmaxes, each as large as its share."""
    output, readouts, targets, mask = twice(rows)
    first, second = mixed(rows)[:2], mixed(rows + 1)[:2]
    mixture = Mixture(*(torch.cat((x, y[:, :rows])).requires_grad_() for x, y in zip(first, second, strict=True)))
    leaves = [readouts.requires_grad_(), output.weight, output.bias, *mixture[:2]]
    given = output.weight, output.bias, targets, mask
    loss, each = token_losses(readouts, *given, smoothing=0.1, mixture=mixture, r_drop_weight=3.0)
    exact = [leaf.detach().double().requires_grad_() for leaf in leaves]
    log_probs = nn.functional.linear(*exact[:3]).log_softmax(-1)
    wanted = log_probs.exp().gather(2, targets[..., None])[..., 0] * exact[3] + exact[4]
    log_p, log_q = (half[mask[:2]] for half in (log_probs + exact[3].log()[..., None]).chunk(2))
    expected = (-0.9 * wanted.log() - 0.1 * log_probs.mean(-1))[mask].sum()
    expected = expected + 1.5 * ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum()
    torch.testing.assert_close(loss.double(), expected.detach(), atol=EACH * int(mask.sum()), rtol=1e-6)
    torch.testing.assert_close(each.double(), (-wanted.log() * mask).detach(), atol=1e-5, rtol=1e-5)
    theirs = torch.autograd.grad(2.5 * expected, exact)
    for our_part, their_part in zip(torch.autograd.grad(2.5 * loss, leaves), theirs, strict=True):
        torch.testing.assert_close(our_part.double(), their_part, atol=3e-6 * float(their_part.abs().max()), rtol=1e-5)


def test_the_distance_of_measures() -> None:
    """By hand, of real steps alone: nothing is infinitely far from something."""
    parts = torch.tensor([[[0.5, 0.0], [9.0, 9.0]], [[0.25, 0.1], [1.0, 2.0]]], requires_grad=True)
    mask = torch.tensor([[True, False]]).repeat(2, 1)
    apart = distance(parts, mask)
    expected = (0.25 * math.log(2) + 0.1 * math.log(0.1 / 1e-9)) / 2
    torch.testing.assert_close(apart, torch.tensor(expected))
    (gradient,) = torch.autograd.grad(apart, [parts])
    assert gradient.isfinite().all() and not gradient[:, 1].any()


def test_gradients_in_float64() -> None:
    output, readouts, targets, mask = twice(4)
    output = output.double()

    def loss(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return token_losses(x, weight, bias, targets, mask, smoothing=0.2, r_drop_weight=5.0)[0]

    assert torch.autograd.gradcheck(loss, (readouts.double().requires_grad_(), output.weight, output.bias))


# Several blocks of one size, of which the last shares rows with the one before: what these differ by counts once.
@pytest.mark.parametrize("rows", [3, 98, 200, 300])
def test_half_precision(rows: int) -> None:
    output, readouts, targets, mask = twice(rows)
    half = readouts.bfloat16().requires_grad_()
    loss, _ = token_losses(half, output.weight, output.bias, targets, mask, smoothing=0.1, r_drop_weight=20.0)
    exact = half.detach().double().requires_grad_()
    expected = truth(output, exact, targets, mask, 20.0)
    torch.testing.assert_close(loss.double(), expected.detach(), atol=0, rtol=1e-2)
    (ours,) = torch.autograd.grad(loss, [half])
    (theirs,) = torch.autograd.grad(expected, [exact])
    assert (ours.double() - theirs).norm() / theirs.norm() < 3e-2


@pytest.mark.parametrize("mixing", [False, True], ids=["softmax", "mixture"])
def test_padding_that_is_computed_has_no_part_in_it(mixing: bool) -> None:
    """As on a GPU."""
    output, readouts, targets, mask = twice(6)
    leaves = [readouts.requires_grad_(), output.weight, output.bias]
    expected, _ = token_losses(readouts, *leaves[1:], targets, mask, smoothing=0.1, r_drop_weight=4.0)
    rows, wanted, real = (interleave_halves(each).flatten(0, 1) for each in (readouts, targets, mask))
    mixture = None
    if mixing:
        leaves += [part.requires_grad_() for part in (torch.rand(4, 6) + 0.05, torch.rand(4, 6))]
        expected, _ = token_losses(
            readouts, *leaves[1:3], targets, mask, smoothing=0.1, r_drop_weight=4.0, mixture=Mixture(*leaves[3:])
        )
        known = torch.ones(4, 6)
        mixture = torch.stack([interleave_halves(part).flatten() for part in (*leaves[3:], known)])
    actual, each = _TokenLosses.apply(rows, *leaves[1:3], wanted, real.float(), None, mixture, 0.1, 4.0, True)
    torch.testing.assert_close(actual, expected)
    assert not each[~real].any()
    for ours, theirs in zip(torch.autograd.grad(actual, leaves), torch.autograd.grad(expected, leaves), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_sharp_predictions_stay_finite() -> None:
    output, readouts, targets, mask = twice(5)
    sharp = (readouts * 1e4).requires_grad_()
    share = torch.tensor([[1.0, 0.0, 0.0, 0.5, 1.0]] * 3 + [[0.0] * 5]).requires_grad_()
    for mixture in (None, Mixture(share, 1 - share.detach())):
        loss, _ = token_losses(sharp, output.weight, output.bias, targets, mask, r_drop_weight=5.0, mixture=mixture)
        loss.backward()
        assert loss.isfinite() and sharp.grad is not None and sharp.grad.isfinite().all()
    assert share.grad is not None and share.grad.isfinite().all()
