"""Cross entropy with label smoothing, summed over real tokens, without ever holding all logits.

Logits are by far the largest tensor of a training step. They are computed, turned into their own gradient and dropped
block by block. First stand the two terms that need the same logits: the mixture of generating and copying, and the
divergence of two passes (R-Drop). The loss itself follows: `token_losses`."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.kernels.linear import matrix_product

# The mixture of a softmax and another distribution, as of a pointer-generator (See et al. 2017, equation 9).

LEAST_SHARE = 80.0
"""Nats: a mixed probability below exp(-LEAST_SHARE) has the gradient of that bound."""


class Mixture(NamedTuple):
    """The probability of each target token: p = share * softmax(logits)[target] + other."""

    share: Tensor
    """[B, T], greater than 0."""
    other: Tensor
    """[B, T], not negative."""
    parts: Tensor
    """[B, T, S]: the probability of copying each of S places, whatever the target; for `r_drop_weight` alone."""


def mixed(
    predicted: Tensor, mixture: Tensor, smoothing: float, weights: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the logarithms of mixed probabilities and the softmax's fraction of each, both [N, 1].

    The third result, [2, N], is the gradient of (1 - smoothing) * -log p with respect to the mixture.
    predicted: [N, 1], the logarithms of the softmax's probabilities. mixture: [2, N], share and other.
    weights: [N], of the tokens; None: 1.
    """
    log_share, log_other = mixture.log()[..., None]
    by_softmax = log_share + predicted
    log_prob = torch.logaddexp(by_softmax, log_other)
    # The gradient of a nearly impossible token is bounded, so that it stays a number where it is multiplied by 0.
    # By share: -softmax[target] / p. By other: -1 / p.
    grad = -torch.cat(((predicted - log_prob).exp(), (-log_prob.clamp(min=-LEAST_SHARE)).exp()), 1)
    generated = (by_softmax - log_prob).exp()
    grad *= 1 - smoothing
    return log_prob, generated, (grad if weights is None else grad * weights[:, None]).T


# The divergence of two predictions of the same tokens, with its gradient: (KL(P || Q) + KL(Q || P)) / 2.
#
# P and Q may sum to less than 1. Then the divergence is half of the sum of (P - Q) (log P - log Q).

LEAST = 1e-9
"""The lower bound of a share or of a copied probability."""


def divergences(
    log_probs: Float[Tensor, "N V"], share: Float[Tensor, "N 1"] | None = None
) -> tuple[Float[Tensor, " N//2"], Float[Tensor, "N V"], Float[Tensor, "N 1"]]:
    """Returns the divergence of each pair of predictions, in nats, and its gradients in the logits and in the shares.

    log_probs: rows 2 n and 2 n + 1 are of token n, both over the whole vocabulary. share: the probability of
    generating in each row; None: 1.
    """
    # P and Q, [N / 2, V]: the probabilities of generating each token, from alternate rows.
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
    # The two directions of the divergence, [N / 2, 1], and their gradient in the shares.
    log_ratio = log_p - log_q
    from_p = (p * log_ratio).sum(-1, keepdim=True)
    from_q = -(q * log_ratio).sum(-1, keepdim=True)
    # dP / dshare_p is P / share_p, and P - Q sums to share_p - share_q, since a softmax sums to 1.
    grad_share = torch.stack((from_p + share_p - share_q, from_q + share_q - share_p), 1).flatten(0, 1) / (2 * share)
    # The derivative in log P is (P (log P - log Q) + P - Q) / 2. In the logits its sum over the softmax is taken off.
    grad_p = (log_ratio + (share_q - from_p) / share_p).mul_(p).sub_(q)
    grad_q = log_ratio.neg_().add_((share_p - from_q) / share_q).mul_(q).sub_(p)
    return (from_p + from_q)[:, 0] / 2, torch.stack((grad_p, grad_q), 1).flatten(0, 1).div_(2), grad_share


def distance(parts: Float[Tensor, "N T S"], mask: Bool[Tensor, "N T"]) -> Float[Tensor, ""]:
    """Returns the divergence of the two halves of a batch, in nats, summed over the real steps; differentiable. mask:
    true on real steps."""
    p, q = parts.chunk(2)
    log_p, log_q = parts.clamp(min=LEAST).log().chunk(2)
    return ((p - q) * (log_p - log_q)).sum(-1)[mask[: len(p)]].sum() / 2


def interleave_halves(halves: Shaped[Tensor, "N T *sizes"]) -> Shaped[Tensor, "N//2 2*T *sizes"]:
    """Returns the tokens of the first half of the sequences, each followed by its counterpart of the second."""
    return halves.unflatten(0, (2, -1)).movedim(0, 2).flatten(1, 2)


def separate_halves(tokens: Float[Tensor, "N T"]) -> Float[Tensor, "2*N T//2"]:
    """Inverts `interleave_halves`."""
    return tokens.unflatten(1, (-1, 2)).movedim(2, 0).flatten(0, 1)


# The loss: the backward pass keeps tensors of the size of the readouts and of the output matrix alone.


def token_losses(
    readouts: Float[Tensor, "B T F"],
    weight: Float[Tensor, "V F"],
    bias: Float[Tensor, " V"],
    targets: Int[Tensor, "B T"],
    mask: Bool[Tensor, "B T"],
    *,
    smoothing: float = 0.0,
    mixture: Mixture | None = None,
    r_drop_weight: float = 0.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, "B T"]]:
    """Returns the sum over real tokens of the cross entropy, in nats, float32. The second result, [B, T], is the loss
    of each token: 0 on padding, not smoothed, without a gradient.

    weight, bias: of the output layer; mask: true on real tokens. mixture: the targets' probabilities beside
    the softmax, as of copying.
    smoothing: the share of probability spread over all tokens alike (Szegedy et al. 2016, section 7). With a mixture
    its softmax is smoothed: (1 - smoothing) * -log p(target) + smoothing * mean over tokens of -log softmax.
    r_drop_weight: above 0, the second half of the sequences repeats the first, and the sum has the divergence of the
    two predictions with this weight (Liang et al. 2021). With a mixture, they are its generated and copied parts.

    Differentiable once. Products are computed in the type of autocast, or of `readouts`; softmax and sums in float32.
    """
    # R-Drop compares neighbouring rows, so that a block of tokens has both predictions of each.
    if r_drop_weight:
        divergence = 0.0 if mixture is None else r_drop_weight * distance(mixture.parts, mask)
        readouts, targets, mask = map(interleave_halves, (readouts, targets, mask))
    device = readouts.device.type
    if torch.is_autocast_enabled(device):
        readouts = readouts.to(torch.get_autocast_dtype(device))
    mixing = None if mixture is None else _stacked(mixture, twice=r_drop_weight > 0)
    # Asked here, since within a Function's forward gradients are always off.
    options = smoothing, r_drop_weight, torch.is_grad_enabled()
    if selects_tokens(device):
        # [B, T, ...] -> [N, ...]: the real tokens alone.
        mixing = None if mixing is None else mixing[:, mask]
        total, each = _TokenLosses.apply(readouts[mask], weight, bias, targets[mask], None, mixing, *options)
        each = each.new_zeros(mask.shape).masked_scatter(mask, each)
    else:
        # [B, T, ...] -> [B * T, ...]: a GPU is not asked how many tokens are real, which takes longer than the rest.
        # Padding weighs nothing.
        weights = mask.flatten().to(weight.dtype)
        mixing = None if mixing is None else mixing.flatten(1)
        flat = readouts.flatten(0, 1)
        total, each = _TokenLosses.apply(flat, weight, bias, targets.flatten(), weights, mixing, *options)
        # Padding has losses here, which are no token's.
        each = each.view(mask.shape).masked_fill(~mask, 0.0)
    return (total + divergence, separate_halves(each)) if r_drop_weight else (total, each)


def selects_tokens(device: str) -> bool:
    """Returns whether padding is left out before anything is computed, on this kind of device."""
    return device == "cpu"


def _stacked(mixture: Mixture, *, twice: bool) -> Tensor:
    """Returns share and other, [2, B, T]; twice: with the halves of the batch interleaved."""
    stacked = torch.stack((mixture.share, mixture.other))
    return torch.stack([*map(interleave_halves, stacked)]) if twice else stacked


class _TokenLosses(Function):
    @staticmethod
    def forward(
        ctx,
        readouts: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        weights: Tensor | None,
        mixture: Tensor | None,
        smoothing: float,
        r_drop_weight: float,
        differentiable: bool,
    ) -> tuple[Tensor, Tensor]:
        """weights: [N], of the tokens, 0 on padding; None: 1. mixture: [2, N], see `mixed`; None: 1 and 0.
        r_drop_weight: above 0, rows 2 n and 2 n + 1 are of one token."""
        weight_cast = weight.to(readouts.dtype)
        grad_readouts = torch.empty_like(readouts)
        grad_weight = torch.zeros_like(weight)
        grad_bias = torch.zeros_like(bias)
        grad_mixed = weight.new_empty(0) if mixture is None else torch.empty_like(mixture)
        each = weight.new_empty(len(readouts))
        loss = weight.new_zeros(())
        for span in _blocks(readouts):
            # The log-probabilities of a block of tokens, [n, V].
            block = readouts[span]
            log_probs = matrix_product(block, weight_cast.T, bias.to(readouts.dtype)).to(weight.dtype).log_softmax(-1)
            of_tokens = None if weights is None else weights[span]
            wanted = targets[span, None]
            predicted = log_probs.gather(1, wanted)
            generated = divergence_grad = None
            if mixture is not None:
                predicted, generated, grad_mixed[:, span] = mixed(predicted, mixture[:, span], smoothing, of_tokens)
            # Their losses.
            each[span] = -predicted[:, 0]
            _add_loss(loss, each[span], log_probs, smoothing, of_tokens)
            if r_drop_weight:
                shares = None if mixture is None else (mixture[0, span], grad_mixed[0, span])
                divergence_grad = _add_divergences(loss, log_probs, shares, of_tokens, r_drop_weight)
            if not differentiable:
                continue
            # The gradient, which takes the place of the log-probabilities, and what follows from it.
            grad = _gradient(log_probs, wanted, smoothing, generated, of_tokens, divergence_grad)
            grad_bias += grad.sum(0)
            grad_cast = grad.to(readouts.dtype)
            grad_readouts[span] = _grad_readouts(grad_cast, weight_cast)
            _add_product(grad_weight, grad_cast.T, block)
        ctx.save_for_backward(grad_readouts, grad_weight, grad_bias, grad_mixed)
        ctx.mark_non_differentiable(each)
        return loss, each

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        # All gradients were computed forward, for a loss whose own gradient is 1.
        readouts, weight, bias, mixture = (grad * saved for saved in ctx.saved_tensors)
        return readouts, weight, bias, None, None, mixture if ctx.needs_input_grad[5] else None, None, None, None


def _add_loss(total: Tensor, each: Tensor, log_probs: Tensor, smoothing: float, weights: Tensor | None) -> None:
    """Adds the smoothed losses of tokens to the total. each: [n], not smoothed; log_probs: [n, V]; weights: [n] of the
    tokens; None: 1."""
    total += (1 - smoothing) * (each.sum() if weights is None else each.dot(weights))
    if smoothing:
        means = log_probs.mean(-1)
        total -= smoothing * (means.sum() if weights is None else means.dot(weights))


def _add_divergences(
    total: Tensor,
    log_probs: Tensor,
    shares: tuple[Tensor, Tensor] | None,
    weights: Tensor | None,
    r_drop_weight: float,
) -> Tensor:
    """Adds the divergences to the total. Returns their gradient in the logits, [n, V], not weighted.

    shares: those of a mixture, [n], and their gradient, to which this adds. weights: [n] of the tokens; None: 1."""
    divergence, grad, grad_share = divergences(log_probs, None if shares is None else shares[0][:, None])
    divergence = divergence if weights is None else divergence * weights[::2]
    total += r_drop_weight * divergence.sum()
    if shares is not None:
        by_share = grad_share[:, 0] if weights is None else grad_share[:, 0] * weights
        shares[1].add_(by_share, alpha=r_drop_weight)
    return grad.mul_(r_drop_weight)


def _gradient(
    log_probs: Tensor,
    wanted: Tensor,
    smoothing: float,
    generated: Tensor | None,
    weights: Tensor | None,
    divergence_grad: Tensor | None,
) -> Tensor:
    """Returns the gradient of the logits [N, V], in the place of their log-probabilities.

    wanted: [N, 1] tokens. generated: [N, 1], the softmax's fraction of each target's probability; None: 1.
    weights: [N] of the tokens; None: 1. divergence_grad: [N, V], see `_add_divergences`."""
    # The gradient of a cross entropy is the softmax less the smoothed one-hot vector of the target.
    grad = log_probs.exp_()
    # In a mixture, the target counts by the softmax's fraction of its probability.
    if generated is not None:
        learnt = (1 - smoothing) * generated
        grad *= learnt + smoothing
    if smoothing:
        grad -= smoothing / grad.shape[1]
    taken = grad.new_full(wanted.shape, smoothing - 1) if generated is None else -learnt
    grad.scatter_add_(1, wanted, taken)
    if divergence_grad is not None:
        grad += divergence_grad
    return grad if weights is None else grad.mul_(weights[:, None])


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Adds left @ right to the total."""
    if total.dtype == left.dtype:  # within the product, without a tensor of the size of the matrix
        total.addmm_(left, right)
    else:
        total += left @ right


def _blocks(readouts: Tensor) -> Iterator[slice]:
    """Yields the tokens of each block. Blocks begin and end at even tokens, but for the last end."""
    # Few enough for a block of logits to stay in a CPU's cache; a GPU wants larger products.
    size = 256 if readouts.device.type == "cpu" else 4096
    return (slice(begin, min(begin + size, len(readouts))) for begin in range(0, len(readouts), size))


def _grad_readouts(grad: Tensor, weight: Tensor) -> Tensor:
    """Returns grad @ weight. In bfloat16 on a CPU, oneDNN compiles a program for each shape: for the transpose in an
    eighth of 12 ms."""
    if grad.device.type == "cpu" and grad.dtype == torch.bfloat16:
        return (weight.T @ grad.T).T
    return matrix_product(grad, weight)
