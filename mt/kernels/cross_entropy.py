"""Cross entropy with label smoothing, summed over real tokens, without ever holding all logits.

Logits are by far the largest tensor of a training step. They are made, turned into their own gradient and dropped block
by block, so that what is kept for the backward pass has the size of the readouts and of the output matrix.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.kernels.divergence import divergences
from mt.kernels.linear import matrix_product

LEAST = 80.0
"""Nats: a mixed probability below exp(-LEAST) has the gradient of one of that size."""


class Mixture(NamedTuple):
    """The probability of each target token as a part of the softmax's and something else:
    p = share * softmax(logits)[target] + other."""

    share: Tensor
    """[B, T], greater than 0."""
    other: Tensor
    """[B, T], not negative."""


def token_losses(
    readouts: Float[Tensor, "B T F"],
    weight: Float[Tensor, "V F"],
    bias: Float[Tensor, " V"],
    targets: Int[Tensor, "B T"],
    mask: Bool[Tensor, "B T"],
    sequence_weights: Float[Tensor, " B"] | None = None,
    *,
    smoothing: float = 0.0,
    mixture: Mixture | None = None,
    agreement: float = 0.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, "B T"]]:
    """Returns the sum over real tokens of the cross entropy, in nats, float32; and that of each token, [B, T], 0 on
    padding, not smoothed and without a gradient.

    weight, bias: turn readouts into logits; mask: true on real tokens. sequence_weights: by which the tokens of each
    sequence count in the sum, also negative ones; None: 1.
    smoothing: the share of probability given to all tokens alike (Szegedy et al. 2016, section 7); with a mixture, what
    is smoothed is its softmax: (1 - smoothing) * -log p(target) + smoothing * mean over tokens of -log softmax.
    mixture: what the targets' probabilities are, where they are not the softmax's.
    agreement: above 0, the second half of the sequences repeats the first, and the sum has so many times
    (KL(p || q) + KL(q || p)) / 2 of the two softmaxes p and q of each token (Liang et al. 2021), without weights.

    Differentiable once. Products are computed in the type of autocast, or of `readouts`; softmax and sums in float32.
    """
    if agreement:
        readouts, targets, mask = map(_side_by_side, (readouts, targets, mask))
    device = readouts.device.type
    if torch.is_autocast_enabled(device):
        readouts = readouts.to(torch.get_autocast_dtype(device))
    rest = smoothing, agreement, torch.is_grad_enabled()
    parts = None if mixture is None else torch.stack(mixture)
    weights = None if sequence_weights is None else sequence_weights[:, None].expand(mask.shape)
    if device == "cpu":
        parts = None if parts is None else parts[:, mask]
        weights = None if weights is None else weights[mask]
        total, each = _TokenLosses.apply(readouts[mask], weight, bias, targets[mask], None, weights, parts, *rest)
        each = each.new_zeros(mask.shape).masked_scatter(mask, each)
        return total, _one_below_the_other(each) if agreement else each
    # A GPU would be waited for, to know how many are real, for longer than the few others take.
    real = mask.flatten().to(weight.dtype)
    parts = None if parts is None else parts.flatten(1)
    weights = None if weights is None else weights.flatten() * real
    rows = readouts.flatten(0, 1), weight, bias, targets.flatten(), real, weights, parts
    total, each = _TokenLosses.apply(*rows, *rest)
    each = each.view(mask.shape)
    return total, _one_below_the_other(each) if agreement else each


def _side_by_side(halves: Shaped[Tensor, "N T *sizes"]) -> Shaped[Tensor, "N//2 2*T *sizes"]:
    """Returns the tokens of the first half of the sequences, each followed by its fellow of the second."""
    return halves.unflatten(0, (2, -1)).movedim(0, 2).flatten(1, 2)


def _one_below_the_other(tokens: Float[Tensor, "N T"]) -> Float[Tensor, "2*N T//2"]:
    """Takes `_side_by_side` back."""
    return tokens.unflatten(1, (-1, 2)).movedim(2, 0).flatten(0, 1)


class _TokenLosses(Function):
    @staticmethod
    def forward(
        ctx,
        readouts: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        real: Tensor | None,
        weights: Tensor | None,
        mixture: Tensor | None,
        smoothing: float,
        agreement: float,
        differentiable: bool,
    ) -> tuple[Tensor, Tensor]:
        """real: [N], 1 or 0, whether each row counts; None: 1. weights: [N], how much, 0 where it does not; None: 1.
        mixture: [2, N], see `Mixture`; None: 1 and 0. agreement: above 0, rows 2 n and 2 n + 1 are of one token."""
        weight_cast = weight.to(readouts.dtype)
        grad_readouts = torch.empty_like(readouts)
        grad_weight = torch.zeros_like(weight)
        grad_bias = torch.zeros_like(bias)
        grad_mixed = weight.new_empty(0) if mixture is None else torch.empty_like(mixture)
        each = weight.new_empty(len(readouts))
        loss = weight.new_zeros(())
        for first, begin, end in _blocks(readouts):
            again = begin - first  # rows that have been in the block before
            block = readouts[first:end]
            wanted = targets[first:end, None]
            log_probs = matrix_product(block, weight_cast.T, bias.to(readouts.dtype)).to(weight.dtype).log_softmax(-1)
            counts = None if real is None else real[first:end, None]
            share = counts if weights is None else weights[first:end, None]
            if counts is not None:
                log_probs *= counts
            predicted = log_probs.gather(1, wanted)
            generated = None
            if mixture is not None:
                predicted, generated, grad_mixed[:, first:end] = _mixed(predicted, mixture[:, first:end], counts, share)
            each[begin:end] = -predicted[again:, 0]
            _add_loss(loss, each[begin:end], log_probs[again:], smoothing, weights, begin)
            apart = _add_divergences(loss, log_probs, again, agreement) if agreement else None
            if not differentiable:
                continue
            grad = _gradient(log_probs, wanted, smoothing, generated, share, apart)
            grad[:again] = 0
            grad_bias += grad.sum(0)
            grad_cast = grad.to(readouts.dtype)
            grad_readouts[begin:end] = _grad_readouts(grad_cast, weight_cast)[again:]
            _add_product(grad_weight, grad_cast.T, block)
        ctx.save_for_backward(grad_readouts, grad_weight, grad_bias, grad_mixed.mul_(1 - smoothing))
        ctx.mark_non_differentiable(each)
        return loss, each

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        readouts, weight, bias, mixture = (grad * part for part in ctx.saved_tensors)
        return readouts, weight, bias, None, None, None, mixture if ctx.needs_input_grad[6] else None, None, None, None


def _add_loss(
    total: Tensor, each: Tensor, log_probs: Tensor, smoothing: float, weights: Tensor | None, begin: int
) -> None:
    """Adds the smoothed losses of rows from `begin` on to the total. each: [n], not smoothed; log_probs: [n, V];
    weights: [N], by which all rows count; None: 1."""
    shares = None if weights is None else weights[begin : begin + len(each)]
    total += (1 - smoothing) * (each.sum() if shares is None else each.dot(shares))
    if smoothing:
        means = log_probs.mean(-1)
        total -= smoothing * (means.sum() if shares is None else means.dot(shares))


def _add_divergences(total: Tensor, log_probs: Tensor, again: int, agreement: float) -> Tensor:
    """Adds the divergences of rows from `again` on to the total, and returns the gradient of all, [n, V]."""
    apart, grad = divergences(log_probs)
    total += agreement * apart[again // 2 :].sum()
    return grad.mul_(agreement)


def _mixed(
    predicted: Tensor, mixture: Tensor, counts: Tensor | None, share: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the logarithms of mixed probabilities [N, 1], the softmax's part in each, and the gradient of -log p with
    respect to the mixture, [2, N]. predicted: [N, 1], the logarithms of the softmax's probabilities. counts: [N, 1], 1
    or 0, whether each row counts; share: [N, 1], how much, in the gradient; None: 1."""
    log_share, log_other = mixture.log()[..., None]
    by_softmax = log_share + predicted
    mixed = torch.logaddexp(by_softmax, log_other)
    # The gradient of what is nearly impossible is cut, so that it stays a number where it is multiplied by 0.
    grad = torch.cat((-(predicted - mixed).exp(), -(-mixed.clamp(min=-LEAST)).exp()), 1)
    generated = (by_softmax - mixed).exp()
    return mixed if counts is None else mixed * counts, generated, (grad if share is None else grad * share).T


def _gradient(
    log_probs: Tensor,
    wanted: Tensor,
    smoothing: float,
    generated: Tensor | None,
    counts: Tensor | None,
    apart: Tensor | None,
) -> Tensor:
    """Returns the gradient of the logits [N, V], in the place of their log-probabilities. wanted: [N, 1] tokens.
    generated: [N, 1], the softmax's part in each target's probability; None: all. counts: [N, 1], what each row counts;
    None: 1. apart: [N, V], the gradient of what else the logits cost; None: nothing."""
    grad = log_probs.exp_()
    if generated is not None:
        part = (1 - smoothing) * generated
        grad *= part + smoothing
    if smoothing:
        grad -= smoothing / grad.shape[1]
    taken = grad.new_full(wanted.shape, smoothing - 1) if generated is None else -part
    grad.scatter_add_(1, wanted, taken)
    if apart is not None:
        grad += apart
    return grad if counts is None else grad.mul_(counts)


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Adds left @ right to the total."""
    if total.dtype == left.dtype:  # within the product, without a tensor of the size of the matrix
        total.addmm_(left, right)
    else:
        total += left @ right


def _blocks(readouts: Tensor) -> Iterator[tuple[int, int, int]]:
    """Yields the first row of each block, the first that has not been in the one before, and the end. All are even, but
    for the last end."""
    rows, alike = _block(readouts)
    for begin in range(0, len(readouts), rows):
        end = min(begin + rows, len(readouts))
        yield end - rows if alike else begin, begin, end


def _block(readouts: Tensor) -> tuple[int, bool]:
    """Returns the rows of a block, and whether the last one has as many, too."""
    # Few enough for a block of logits to stay in a CPU's cache; a GPU wants larger products.
    rows = 256 if readouts.device.type == "cpu" else 4096
    if not _compiled_by_shape(readouts) or len(readouts) <= rows:
        return rows, False
    # The programs for a block of another size take 20 ms.
    return 32 * -(-len(readouts) // (32 * -(-len(readouts) // rows))), True


def _grad_readouts(grad: Tensor, weight: Tensor) -> Tensor:
    """Returns grad @ weight, by its transpose where the program for that is made in an eighth of 12 ms."""
    return (weight.T @ grad.T).T if _compiled_by_shape(grad) else matrix_product(grad, weight)


def _compiled_by_shape(x: Tensor) -> bool:
    """Returns whether products are oneDNN's, which compiles a program for each shape and keeps few of them."""
    return x.device.type == "cpu" and x.dtype == torch.bfloat16
