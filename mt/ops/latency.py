"""Latency of an expected alignment, as a term of the loss."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mt.kernels.precision import compute_dtype, result_dtype


def differentiable_average_lagging(
    delays: Float[Tensor, "B T"], source_lengths: Int[Tensor, " B"], target_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """DAL (Cherry & Foster 2019, section 3.1; with expected delays as here, Arivazhagan et al. 2019, section 4), with
    |x| source tokens, |y| target tokens and gamma = |y| / |x|:

        DAL = 1/|y| sum over i = 1 .. |y| of  g'[i] - (i-1)/gamma,     g'[i] = max(g[i], g'[i-1] + 1/gamma)

    Computed without the recurrence, as g'[i] - (i-1)/gamma is the maximum of g[n] - (n-1)/gamma over n <= i.

    delays: g, the (expected) number of source tokens read when each target token is written.
    source_lengths: |x|. target_mask: true on the first |y| steps of each row, and false on the padding behind them.
    Returns source tokens; 0 for a row without targets.

    Computed in float64 (MPS: float32); returned in float32, or float64 where `delays` is float64.
    """
    dtype = compute_dtype(delays.device)
    steps = torch.arange(delays.shape[1], device=delays.device, dtype=dtype)
    target_lengths = target_mask.sum(1).clamp(min=1)
    source_per_target = source_lengths.to(dtype) / target_lengths
    lag = (delays.to(dtype) - steps * source_per_target[:, None]).cummax(1).values
    return (torch.where(target_mask, lag, 0.0).sum(1) / target_lengths).to(result_dtype(delays))


def expected_lagging(
    alpha: Float[Tensor, "B T S"], source_mask: Bool[Tensor, "B S"], target_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """Returns the lagging of an expected alignment (Arivazhagan et al. 2019, equations 10 to 14): each target token is
    written after sum over j of (j + 1) alpha[j] source tokens, or after all of them where the pointer has left the
    source.

    alpha: the probability of stopping at each position. Returns source tokens; see `differentiable_average_lagging`.
    """
    lengths = source_mask.sum(1)
    positions = torch.arange(1, source_mask.shape[1] + 1, device=lengths.device)
    lost = (1 - alpha.sum(-1)).clamp(min=0)
    delays = alpha @ positions.to(alpha.dtype) + lost * lengths[:, None]
    return differentiable_average_lagging(delays, lengths, target_mask)
