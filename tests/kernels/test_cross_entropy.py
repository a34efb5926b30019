"""Against torch's own cross entropy on the whole of the logits, in float64."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mt.kernels.cross_entropy import Mixture, _TokenLosses, token_losses
from tests.marks import combined

EACH = 1e-6
"""Rounding of the cross entropy of a token in float32: it is a difference of numbers of about 10, whatever its size."""


def token_loss(output: nn.Linear, readouts: Tensor, targets: Tensor, mask: Tensor, *, smoothing: float = 0.0) -> Tensor:
    """The sum alone."""
    return token_losses(readouts, output.weight, output.bias, targets, mask, smoothing=smoothing)[0]


def problem(rows: int, *, vocabulary: int = 11, size: int = 6) -> tuple[nn.Linear, Tensor, Tensor, Tensor]:
    """An output layer, readouts [2, rows, size], targets and a mask that hides about a third."""
    generator = torch.Generator().manual_seed(rows)
    output = nn.Linear(size, vocabulary)
    with torch.no_grad():
        output.weight.normal_(generator=generator)
        output.bias.normal_(generator=generator)
    readouts = torch.randn(2, rows, size, generator=generator)
    targets = torch.randint(vocabulary, (2, rows), generator=generator)
    return output, readouts, targets, torch.rand(2, rows, generator=generator) < 0.67


def truth(
    output: nn.Linear, readouts: Tensor, targets: Tensor, mask: Tensor, smoothing: float
) -> tuple[Tensor, list[Tensor]]:
    """The loss, and its gradients in readouts, weight and bias."""
    leaves = [x.detach().double().requires_grad_() for x in (readouts, output.weight, output.bias)]
    logits = nn.functional.linear(*leaves)
    loss = cross_entropy(logits[mask], targets[mask], label_smoothing=smoothing, reduction="sum")
    return loss.detach(), list(torch.autograd.grad(loss, leaves))


@combined(rows=[1, 3, 200, 700], smoothing=[0.0, 0.1, 0.9])
# A block has 256 rows on a CPU: less than one, about one, and several.
def test_equals_cross_entropy_with_its_gradients(rows: int, smoothing: float):
    output, readouts, targets, mask = problem(rows)
    mask[0, 0] = True
    readouts.requires_grad_()
    loss = token_loss(output, readouts, targets, mask, smoothing=smoothing)
    (2.5 * loss).backward()
    expected, gradients = truth(output, readouts, targets, mask, smoothing)
    torch.testing.assert_close(loss.double(), expected, atol=EACH * int(mask.sum()), rtol=1e-6)
    for ours, theirs in zip((readouts.grad, output.weight.grad, output.bias.grad), gradients, strict=True):
        assert ours is not None
        torch.testing.assert_close(ours.double(), 2.5 * theirs, atol=3e-6 * float(theirs.abs().max()), rtol=1e-5)


@pytest.mark.parametrize("rows", [3, 700])
def test_losses_of_each_token_are_not_smoothed_and_have_no_gradient(rows: int):
    output, readouts, targets, mask = problem(rows)
    total, each = token_losses(readouts.requires_grad_(), output.weight, output.bias, targets, mask, smoothing=0.3)
    logits = nn.functional.linear(readouts.double(), output.weight.double(), output.bias.double())
    expected = cross_entropy(logits.transpose(1, 2), targets, reduction="none") * mask
    assert total.requires_grad and not each.requires_grad
    torch.testing.assert_close(each.double(), expected.detach(), atol=1e-5, rtol=1e-6)
    assert torch.equal(total, token_loss(output, readouts, targets, mask, smoothing=0.3))


@pytest.mark.parametrize("count", [255, 256, 257, 512, 513])
def test_no_row_is_lost_or_counted_twice_at_the_edge_of_a_block(count: int):
    output, readouts, targets, _ = problem(count)
    mask = torch.tensor([True, False])[:, None].expand(2, count)
    loss = token_loss(output, readouts, targets, mask)
    torch.testing.assert_close(
        loss.double(), truth(output, readouts, targets, mask, 0.0)[0], atol=EACH * count, rtol=1e-6
    )


def test_padding_has_no_part_in_it():
    output, readouts, targets, mask = problem(9)
    readouts.requires_grad_()
    loss = token_loss(output, readouts, targets, mask, smoothing=0.1)
    loss.backward()
    assert readouts.grad is not None
    assert not readouts.grad[~mask].any()
    changed = readouts.detach().masked_fill(~mask[..., None], 1e9)
    assert torch.equal(token_loss(output, changed, targets.masked_fill(~mask, 0), mask, smoothing=0.1), loss)


def test_a_batch_of_nothing_costs_nothing():
    output, readouts, targets, mask = problem(3)
    loss = token_loss(output, readouts.requires_grad_(), targets, torch.zeros_like(mask))
    loss.backward()
    assert loss.item() == 0
    assert output.weight.grad is not None and not output.weight.grad.any()


def test_sharp_logits_stay_finite():
    output, readouts, targets, mask = problem(5)
    loss = token_loss(output, (readouts * 1e4).requires_grad_(), targets, mask)
    loss.backward()
    assert loss.isfinite()
    assert output.weight.grad is not None and output.weight.grad.isfinite().all()


def test_gradients_in_float64():
    output, readouts, targets, mask = problem(4)
    output = output.double()
    assert torch.autograd.gradcheck(
        lambda x: token_loss(output, x, targets, mask, smoothing=0.2), readouts.double().requires_grad_()
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
# Several blocks of one size, of which the last may share rows with the one before.
@pytest.mark.parametrize("rows", [3, 196, 256, 400])
def test_half_precision_readouts(rows: int, smoothing: float) -> None:
    output, readouts, targets, mask = problem(rows)
    half = readouts.bfloat16().requires_grad_()
    loss = token_loss(output, half, targets, mask, smoothing=smoothing)
    loss.backward()
    expected, gradients = truth(output, half, targets, mask, smoothing)
    assert loss.dtype == torch.float32
    assert half.grad is not None and half.grad.dtype == torch.bfloat16
    torch.testing.assert_close(loss.double(), expected, atol=0, rtol=1e-2)
    for ours, theirs in zip((half.grad, output.weight.grad, output.bias.grad), gradients, strict=True):
        assert ours is not None
        # bfloat16 has 8 bits.
        error = (ours.double() - theirs).norm() / theirs.norm()
        assert error < 2e-2


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_padding_that_is_computed_counts_for_nothing(smoothing: float) -> None:
    """As on a GPU, which computes it rather than tell how much there is."""
    generator = torch.Generator().manual_seed(3)
    readouts = torch.randn(3, 5, 8, generator=generator)
    weight = torch.randn(11, 8, generator=generator)
    bias = torch.randn(11, generator=generator)
    targets = torch.randint(11, (3, 5), generator=generator)
    mask = torch.arange(5) < torch.tensor([[5], [2], [4]])
    leaves = [tensor.requires_grad_() for tensor in (readouts, weight, bias)]
    expected, each = token_losses(readouts, weight, bias, targets, mask, smoothing=smoothing)
    gradients = torch.autograd.grad(expected, leaves)
    given = readouts.flatten(0, 1), weight, bias, targets.flatten(), mask.flatten().float()
    actual, own = _TokenLosses.apply(*given, None, None, smoothing, 0.0, True)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(own.view(mask.shape), each)
    for mine, theirs in zip(torch.autograd.grad(actual, leaves), gradients, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_products_are_computed_in_the_type_of_autocast() -> None:
    """Readouts that a norm has left in float32 are multiplied as others are."""
    output, readouts, targets, mask = problem(20)
    expected = token_loss(output, readouts.bfloat16(), targets, mask)
    with torch.autocast("cpu", torch.bfloat16):
        loss = token_loss(output, readouts, targets, mask)
    assert torch.equal(loss, expected) and loss.dtype == torch.float32
    assert not torch.equal(loss, token_loss(output, readouts, targets, mask))


def mixed(rows: int) -> Mixture:
    """Shares of the softmax, and what else makes a target probable: nothing, of a third of them."""
    generator = torch.Generator().manual_seed(rows + 1)
    share = torch.rand(2, rows, generator=generator) * 0.9 + 0.05
    other = (1 - share) * torch.rand(2, rows, generator=generator)
    return Mixture(share, other * (torch.rand(2, rows, generator=generator) > 0.33))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [3, 200, 700])
def test_a_mixture_with_its_gradients(rows: int, smoothing: float) -> None:
    output, readouts, targets, mask = problem(rows)
    mixture = Mixture(*(part.requires_grad_() for part in mixed(rows)[:2]))
    leaves = [readouts.requires_grad_(), output.weight, output.bias, *mixture[:2]]
    loss, each = token_losses(readouts, output.weight, output.bias, targets, mask, smoothing=smoothing, mixture=mixture)
    gradients = torch.autograd.grad(2.5 * loss, leaves)
    exact = [leaf.detach().double().requires_grad_() for leaf in leaves]
    log_probs = nn.functional.linear(*exact[:3]).log_softmax(-1)
    p = exact[3] * log_probs.exp().gather(2, targets[..., None])[..., 0] + exact[4]
    expected = (-(1 - smoothing) * p.log() - smoothing * log_probs.mean(-1))[mask].sum()
    torch.testing.assert_close(loss.double(), expected.detach(), atol=EACH * int(mask.sum()), rtol=1e-6)
    torch.testing.assert_close(each.double(), (-p.log() * mask).detach(), atol=1e-5, rtol=1e-5)
    for ours, theirs in zip(gradients, torch.autograd.grad(2.5 * expected, exact), strict=True):
        torch.testing.assert_close(ours.double(), theirs, atol=3e-6 * float(theirs.abs().max()), rtol=1e-5)


def test_what_is_nearly_impossible_has_finite_gradients() -> None:
    output, readouts, targets, mask = problem(5)
    mixture = Mixture(*(part.requires_grad_() for part in mixed(5)[:2]))
    loss, _ = token_losses(readouts * 1e4, output.weight, output.bias, targets, mask, mixture=mixture)
    gradients = torch.autograd.grad(loss, [output.weight, *mixture[:2]])
    assert loss.isfinite() and all(gradient.isfinite().all() for gradient in gradients)


def test_padding_that_is_computed_has_no_part_in_a_mixture() -> None:
    output, readouts, targets, mask = problem(6)
    mixture = torch.stack(mixed(6)[:2]).requires_grad_()
    leaves = [readouts.requires_grad_(), mixture]
    given = output.weight, output.bias
    expected, _ = token_losses(readouts, *given, targets, mask, smoothing=0.1, mixture=Mixture(*mixture))
    real = mask.flatten().float()
    everything = torch.cat((mixture, torch.ones_like(mixture[:1]))).flatten(1)
    actual, each = _TokenLosses.apply(
        readouts.flatten(0, 1), *given, targets.flatten(), real, None, everything, 0.1, 0.0, True
    )
    torch.testing.assert_close(actual, expected)
    assert not each[~mask.flatten()].any()
    for ours, theirs in zip(torch.autograd.grad(actual, leaves), torch.autograd.grad(expected, leaves), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_target_that_the_softmax_has_not_is_the_other_alone() -> None:
    """Of a word that can but be copied; where nothing of it is, its loss stays a number."""
    output, readouts, targets, mask = problem(7)
    share, other = (part.detach().requires_grad_() for part in mixed(7)[:2])
    impossible = torch.arange(other.numel()).view(other.shape) % 3 == 0
    copied = other.masked_fill(impossible, 0.0)
    known = torch.zeros_like(mask)
    mixture = Mixture(share, copied, known=known)
    loss, each = token_losses(readouts, output.weight, output.bias, targets, mask, mixture=mixture)
    expected = (-copied.detach().log()).clamp(max=80.0) * mask
    torch.testing.assert_close(each, expected.to(each))
    by_share, by_weight, by_other = torch.autograd.grad(loss, [share, output.weight, other])
    assert not by_share.any() and not by_weight.any()
    possible = mask & (copied > 0)
    torch.testing.assert_close(by_other[possible], -1 / other.detach()[possible])
    assert by_other.isfinite().all()
