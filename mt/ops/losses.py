"""Auxiliary losses of an attention: quantity, coverage, guided alignment, doubly stochastic, latency.

Each takes batches with masks and returns a loss for each row. All are computed in float64 (MPS: float32), and returned
in float32, or float64 where their first argument is. They are differentiated in that argument."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mt.kernels.precision import compute_dtype, result_dtype

# Quantity: a monotonic attention selects as many positions as there are target tokens.


def quantity_loss(alpha: Float[Tensor, "B T S"], target_mask: Bool[Tensor, "B T"]) -> Float[Tensor, " B"]:
    """Returns | T - sum over i and j of alpha[i, j] | of each row, with its T real target tokens (Inaguma et al. 2020,
    "CTC-synchronous training for monotonic attention model", quantity regularisation).

    alpha: the probability of stopping at each position. The sum is smaller than T where the pointer has left the
    source. Returns target tokens.
    """
    selected = alpha.sum(-1, dtype=compute_dtype(alpha.device))
    missing = torch.where(target_mask, 1 - selected, 0.0).sum(-1)
    return missing.abs().to(result_dtype(alpha))


# Coverage: an attention does not come back to a position that it has attended to.


def coverage_loss(
    weights: Float[Tensor, "B T S"], source_mask: Bool[Tensor, "B S"], target_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """Returns the sum of min(weights[t, i], c[t, i]) over the real steps t and positions i of each row. The coverage
    c[t, i] is the sum of weights[t', i] over t' < t (See et al. 2017, equations 10 and 12).

    weights: the attention of each step. Where both sides of the minimum are equal, each has half of the gradient.
    """
    real = target_mask[..., None] & source_mask[:, None]  # [B, T, S]
    attended = weights.to(compute_dtype(weights.device)).masked_fill(~real, 0.0)
    coverage = attended.cumsum(1) - attended
    return torch.minimum(attended, coverage).sum((1, 2)).to(result_dtype(weights))


# Guided alignment: the attention of a word follows its links.

LEAST_PROBABILITY = 1e-10
"""The probability from which on a link has a gradient, since in float32 log 0 has none."""


def guided_alignment_loss(weights: Float[Tensor, "B T S"], linked: Float[Tensor, "B T S"]) -> Float[Tensor, " B"]:
    """Returns - sum over t and i of linked[t, i] log weights[t, i] of each row (Chen et al. 2016, equation 7: the cross
    entropy of links whose rows are normalised). A target position that is linked to nothing costs nothing.

    weights: the attention of each step. linked: a distribution over the source, or zeros, for each step.
    """
    logs = weights.to(compute_dtype(weights.device)).clamp(min=LEAST_PROBABILITY).log()
    return -(linked * logs).sum((1, 2)).to(result_dtype(weights))


# Doubly stochastic attention: each source position gets as much attention as every other.


def doubly_stochastic_loss(
    weights: Float[Tensor, "B T S"], source_mask: Bool[Tensor, "B S"], target_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """Returns sum over i of (1 - sum over t of weights[t, i])^2 of each row, over its real positions i and steps t (Xu
    et al. 2015, section 4.2.1, equation 14 without its factor).

    weights: the attention of each step.
    """
    received = weights.to(compute_dtype(weights.device)).masked_fill(~target_mask[..., None], 0.0).sum(1)
    missing = (1 - received).masked_fill(~source_mask, 0.0)
    return missing.square().sum(-1).to(result_dtype(weights))


# Latency of an expected alignment, as a term of the loss.


def differentiable_average_lagging(
    delays: Float[Tensor, "B T"], source_lengths: Int[Tensor, " B"], target_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """Returns DAL (Cherry & Foster 2019, section 3.1; with expected delays, Arivazhagan et al. 2019, section 4), with
    |x| source tokens, |y| target tokens and gamma = |y| / |x|:

        DAL = 1/|y| sum over i = 1 .. |y| of  g'[i] - (i-1)/gamma,     g'[i] = max(g[i], g'[i-1] + 1/gamma)

    Computed without the recurrence, as g'[i] - (i-1)/gamma is the maximum of g[n] - (n-1)/gamma over n <= i.

    delays: g, the (expected) number of source tokens read when each target token is written.
    source_lengths: |x|. target_mask: true on the first |y| steps of each row, and false on the padding behind them.
    Returns source tokens; 0 for a row without targets.
    """
    dtype = compute_dtype(delays.device)
    steps = torch.arange(delays.shape[1], device=delays.device, dtype=dtype)
    target_lengths = target_mask.sum(1).clamp(min=1)
    source_per_target = source_lengths.to(dtype) / target_lengths
    lag = (delays.to(dtype) - steps * source_per_target[:, None]).cummax(1).values  # [B, T]
    return (torch.where(target_mask, lag, 0.0).sum(1) / target_lengths).to(result_dtype(delays))


def expected_lagging(
    alpha: Float[Tensor, "B T S"], source_mask: Bool[Tensor, "B S"], target_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """Returns the lagging of an expected alignment (Arivazhagan et al. 2019, equations 10 to 14). The delay of a token
    is sum over j of (j + 1) alpha[j]; the lost probability counts with the whole source.

    alpha: the probability of stopping at each position. Returns source tokens; see `differentiable_average_lagging`.
    """
    lengths = source_mask.sum(1)
    positions = torch.arange(1, source_mask.shape[1] + 1, device=lengths.device)
    # Rounding may make the sum of alpha exceed 1.
    lost = (1 - alpha.sum(-1)).clamp(min=0)
    delays = alpha @ positions.to(alpha.dtype) + lost * lengths[:, None]  # [B, T]
    return differentiable_average_lagging(delays, lengths, target_mask)
