"""Cross entropy with label smoothing, summed over real tokens, without ever holding all logits.

Logits are by far the largest tensor of a training step. They are made, turned into their own gradient and dropped
block by block. The file begins with the mixture of generating and copying, then the divergence of two passes
(R-Drop), both of which need the same logits; the function of the loss follows."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.kernels.linear import matrix_product

# The probability of a token that is in part a softmax's, and in part something else, as that of a copy.

LEAST_SHARE = 80.0
"""Nats: a mixed probability below exp(-LEAST_SHARE) has the gradient of one of that size."""


class Mixture(NamedTuple):
    """The probability of each target token as a part of the softmax's and something else:
    p = share * softmax(logits)[target] + other."""

    share: Tensor
    """[B, T], greater than 0."""
    other: Tensor
    """[B, T], not negative."""
    parts: Tensor | None = None
    """[B, T, S]: the probability of each of S places that the other may be from, whatever the target; for
    `r_drop_weight` alone."""
    known: Tensor | None = None
    """[B, T] bool: whether the softmax has the target. Else p = other, taken for exp(-LEAST_SHARE) at least; None:
    always."""


def mixed(
    predicted: Tensor, mixture: Tensor, smoothing: float, counts: Tensor | None, share: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the logarithms of mixed probabilities [N, 1], the softmax's part in each, and the gradient of (1 -
    smoothing) * -log p with respect to the mixture, [3, N].

    predicted: [N, 1], the logarithms of the softmax's probabilities. mixture: [3, N], share, other, known.
    counts: [N, 1], 1 or 0, whether each row counts; share: [N, 1], how much, in the gradient; None: 1.
    """
    log_share, log_other = mixture[:2].log()[..., None]
    copied = mixture[2, :, None] == 0
    by_softmax = (log_share + predicted).masked_fill(copied, -torch.inf)
    log_prob = torch.logaddexp(by_softmax, torch.where(copied, log_other.clamp(min=-LEAST_SHARE), log_other))
    # The gradient of what is nearly impossible is cut, so that it stays a number where it is multiplied by 0.
    by_share = -(predicted - log_prob).exp().masked_fill(copied, 0)
    grad = torch.cat((by_share, -(-log_prob.clamp(min=-LEAST_SHARE)).exp(), torch.zeros_like(by_share)), 1)
    generated = (by_softmax - log_prob).exp()
    grad *= 1 - smoothing
    log_prob = log_prob if counts is None else log_prob * counts
    return log_prob, generated, (grad if share is None else grad * share).T


# How far apart the predictions of the same tokens are that two passes of a model make, with its gradient.
#
# What is compared may have less than all of the probability. P and Q are measures then, and how far they are apart is
# half of the sum of (P - Q) (log P - log Q), which of whole distributions is (KL(P || Q) + KL(Q || P)) / 2.

LEAST = 1e-9
"""What a smaller part of a probability is taken for."""


def divergences(
    log_probs: Float[Tensor, "N V"], share: Float[Tensor, "N 1"] | None = None
) -> tuple[Float[Tensor, " N//2"], Float[Tensor, "N V"], Float[Tensor, "N 1"]]:
    """Returns for each pair of predictions how far they are apart, in nats, and its gradients in the logits and in the
    shares.

    log_probs: rows 2 n and 2 n + 1 are of token n, both of the whole vocabulary. share: of each row what its
    probabilities count for; None: 1.
    """
    joint = log_probs
    if share is None:
        share = log_probs.new_ones(len(log_probs), 1)
    else:
        share = share.clamp(min=LEAST)
        joint = log_probs + share.log()
    share_p, share_q = share.unflatten(0, (-1, 2)).unbind(1)
    log_p, log_q = joint.unflatten(0, (-1, 2)).unbind(1)
    p = log_p.exp()
    q = log_q.exp()
    further = log_p - log_q
    from_p = (p * further).sum(-1, keepdim=True)
    from_q = -(q * further).sum(-1, keepdim=True)
    grad_share = torch.stack((from_p + share_p - share_q, from_q + share_q - share_p), 1).flatten(0, 1) / (2 * share)
    # In log P the derivative is (P (log P - log Q) + P - Q) / 2; in the logits, the same less its sum for each softmax.
    grad_p = (further + (share_q - from_p) / share_p).mul_(p).sub_(q)
    grad_q = further.neg_().add_((share_p - from_q) / share_q).mul_(q).sub_(p)
    return (from_p + from_q)[:, 0] / 2, torch.stack((grad_p, grad_q), 1).flatten(0, 1).div_(2), grad_share


def distance(parts: Float[Tensor, "N T S"], mask: Bool[Tensor, "N T"]) -> Float[Tensor, ""]:
    """Returns how far apart the two halves of a batch of measures are, in nats, summed over the real steps;
    differentiable. mask: true on real steps."""
    p, q = parts.chunk(2)
    log_p, log_q = parts.clamp(min=LEAST).log().chunk(2)
    return ((p - q) * (log_p - log_q)).sum(-1)[mask[: len(p)]].sum() / 2


def interleave_halves(halves: Shaped[Tensor, "N T *sizes"]) -> Shaped[Tensor, "N//2 2*T *sizes"]:
    """Returns the tokens of the first half of the sequences, each followed by its fellow of the second."""
    return halves.unflatten(0, (2, -1)).movedim(0, 2).flatten(1, 2)


def separate_halves(tokens: Float[Tensor, "N T"]) -> Float[Tensor, "2*N T//2"]:
    """Takes `interleave_halves` back."""
    return tokens.unflatten(1, (-1, 2)).movedim(2, 0).flatten(0, 1)


# The loss: the backward pass keeps tensors of the size of the readouts and of the output matrix alone.


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
    r_drop_weight: float = 0.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, "B T"]]:
    """Returns the sum over real tokens of the cross entropy, in nats, float32; and that of each token, [B, T], 0 on
    padding, not smoothed and without a gradient.

    weight, bias: turn readouts into logits; mask: true on real tokens. sequence_weights: by which the tokens of each
    sequence count in the sum, also negative ones; None: 1.
    smoothing: the share of probability given to all tokens alike (Szegedy et al. 2016, section 7); with a mixture, what
    is smoothed is its softmax: (1 - smoothing) * -log p(target) + smoothing * mean over tokens of -log softmax.
    mixture: what the targets' probabilities are, where they are not the softmax's.
    r_drop_weight: above 0, the second half of the sequences repeats the first, and the sum has so many times
    (KL(p || q) + KL(q || p)) / 2 of what the two say of each token (Liang et al. 2021), without weights: of the
    softmaxes p and q, or with a mixture of the shares of these and the parts (`mt.kernels.cross_entropy`).

    Differentiable once. Products are computed in the type of autocast, or of `readouts`; softmax and sums in float32.
    """
    if r_drop_weight:
        divergence = 0.0 if mixture is None or mixture.parts is None else r_drop_weight * distance(mixture.parts, mask)
        readouts, targets, mask = map(interleave_halves, (readouts, targets, mask))
    device = readouts.device.type
    if torch.is_autocast_enabled(device):
        readouts = readouts.to(torch.get_autocast_dtype(device))
    rest = smoothing, r_drop_weight, torch.is_grad_enabled()
    mixing = None if mixture is None else _stacked(mixture, twice=r_drop_weight > 0)
    weights = None if sequence_weights is None else sequence_weights[:, None].expand(mask.shape)
    if device == "cpu":
        mixing = None if mixing is None else mixing[:, mask]
        weights = None if weights is None else weights[mask]
        total, each = _TokenLosses.apply(readouts[mask], weight, bias, targets[mask], None, weights, mixing, *rest)
        each = each.new_zeros(mask.shape).masked_scatter(mask, each)
        return (total + divergence, separate_halves(each)) if r_drop_weight else (total, each)
    # A GPU would be waited for, to know how many are real, for longer than the few others take.
    real = mask.flatten().to(weight.dtype)
    mixing = None if mixing is None else mixing.flatten(1)
    weights = None if weights is None else weights.flatten() * real
    rows = readouts.flatten(0, 1), weight, bias, targets.flatten(), real, weights, mixing
    total, each = _TokenLosses.apply(*rows, *rest)
    each = each.view(mask.shape)
    return (total + divergence, separate_halves(each)) if r_drop_weight else (total, each)


def _stacked(mixture: Mixture, *, twice: bool) -> Tensor:
    """Returns [3, B, T]: share, other, and 1 or 0, whether the softmax has the target; `interleave_halves` if twice."""
    share = mixture.share
    known = torch.ones_like(share) if mixture.known is None else mixture.known.to(share.dtype)
    parts = share, mixture.other, known
    return torch.stack([*map(interleave_halves, parts)] if twice else parts)


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
        r_drop_weight: float,
        differentiable: bool,
    ) -> tuple[Tensor, Tensor]:
        """real: [N], 1 or 0, whether each row counts; None: 1. weights: [N], how much, 0 where it does not; None: 1.
        mixture: [3, N], see `mixed`; None: 1, 0, 1. r_drop_weight: above 0, rows 2 n and 2 n + 1 are of one token."""
        weight_cast = weight.to(readouts.dtype)
        grad_readouts = torch.empty_like(readouts)
        grad_weight = torch.zeros_like(weight)
        grad_bias = torch.zeros_like(bias)
        grad_mixed = weight.new_empty(0) if mixture is None else torch.empty_like(mixture)
        each = weight.new_empty(len(readouts))
        loss = weight.new_zeros(())
        for rows, new in _blocks(readouts):
            overlap = new.start - rows.start  # rows that have been in the block before
            block = readouts[rows]
            wanted = targets[rows, None]
            log_probs = matrix_product(block, weight_cast.T, bias.to(readouts.dtype)).to(weight.dtype).log_softmax(-1)
            counts = None if real is None else real[rows, None]
            share = counts if weights is None else weights[rows, None]
            if counts is not None:
                log_probs *= counts
            predicted = log_probs.gather(1, wanted)
            generated = None
            if mixture is not None:
                predicted, generated, grad_mixed[:, rows] = mixed(predicted, mixture[:, rows], smoothing, counts, share)
            each[new] = -predicted[overlap:, 0]
            _add_loss(loss, each[new], log_probs[overlap:], smoothing, None if weights is None else weights[new])
            shares = None if mixture is None else (mixture[0, rows], grad_mixed[0, rows])
            divergence_grad = _add_divergences(loss, log_probs, shares, counts, overlap, r_drop_weight)
            if not differentiable:
                continue
            grad = _gradient(log_probs, wanted, smoothing, generated, share, divergence_grad)
            grad[:overlap] = 0
            grad_bias += grad.sum(0)
            grad_cast = grad.to(readouts.dtype)
            grad_readouts[new] = _grad_readouts(grad_cast, weight_cast)[overlap:]
            _add_product(grad_weight, grad_cast.T, block)
        ctx.save_for_backward(grad_readouts, grad_weight, grad_bias, grad_mixed)
        ctx.mark_non_differentiable(each)
        return loss, each

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        readouts, weight, bias, mixture = (grad * part for part in ctx.saved_tensors)
        return readouts, weight, bias, None, None, None, mixture if ctx.needs_input_grad[6] else None, None, None, None


def _add_loss(total: Tensor, each: Tensor, log_probs: Tensor, smoothing: float, weights: Tensor | None) -> None:
    """Adds the smoothed losses of rows to the total. each: [n], not smoothed; log_probs: [n, V]; weights: [n], by which
    rows count; None: 1."""
    total += (1 - smoothing) * (each.sum() if weights is None else each.dot(weights))
    if smoothing:
        means = log_probs.mean(-1)
        total -= smoothing * (means.sum() if weights is None else means.dot(weights))


def _add_divergences(
    total: Tensor,
    log_probs: Tensor,
    shares: tuple[Tensor, Tensor] | None,
    counts: Tensor | None,
    overlap: int,
    r_drop_weight: float,
) -> Tensor | None:
    """Adds the divergences of rows from `overlap` on to the total. Returns the gradient of all in the logits, [n, V];
    None where the weight is 0. shares: those of a mixture, [n], and their gradient, to which theirs is added. counts:
    as of `mixed`."""
    if not r_drop_weight:
        return None
    share = None if shares is None else shares[0][:, None]
    if share is not None and counts is not None:
        share = share.where(counts > 0, 1.0)  # as the log-probabilities of what does not count are 0
    divergence, grad, grad_share = divergences(log_probs, share)
    total += r_drop_weight * divergence[overlap // 2 :].sum()
    if shares is not None:
        shares[1].add_(grad_share[:, 0], alpha=r_drop_weight)
    return grad.mul_(r_drop_weight)


def _gradient(
    log_probs: Tensor,
    wanted: Tensor,
    smoothing: float,
    generated: Tensor | None,
    counts: Tensor | None,
    divergence_grad: Tensor | None,
) -> Tensor:
    """Returns the gradient of the logits [N, V], in the place of their log-probabilities. wanted: [N, 1] tokens.
    generated: [N, 1], the softmax's part in each target's probability; None: all. counts: [N, 1], what each row counts;
    None: 1. divergence_grad: [N, V], the gradient of what else the logits cost; None: nothing."""
    grad = log_probs.exp_()
    if generated is not None:
        part = (1 - smoothing) * generated
        grad *= part + smoothing
    if smoothing:
        grad -= smoothing / grad.shape[1]
    taken = grad.new_full(wanted.shape, smoothing - 1) if generated is None else -part
    grad.scatter_add_(1, wanted, taken)
    if divergence_grad is not None:
        grad += divergence_grad
    return grad if counts is None else grad.mul_(counts)


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Adds left @ right to the total."""
    if total.dtype == left.dtype:  # within the product, without a tensor of the size of the matrix
        total.addmm_(left, right)
    else:
        total += left @ right


def _blocks(readouts: Tensor) -> Iterator[tuple[slice, slice]]:
    """Yields the rows of each block, and those of them that have not been in the one before. They begin and end at even
    rows, but for the last end."""
    rows, alike = _block(readouts)
    for begin in range(0, len(readouts), rows):
        end = min(begin + rows, len(readouts))
        yield slice(end - rows if alike else begin, end), slice(begin, end)


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
