"""Latency of an expected alignment, as a term of the loss."""

import torch
from torch import Tensor

from mt.ops.precision import inside, returned


def differentiable_average_lagging(delays: Tensor, source_lengths: Tensor, target_mask: Tensor) -> Tensor:
    """DAL: source tokens behind a writer that keeps pace, where each target token takes at least 1/gamma to write.

    Cherry & Foster 2019, section 3.1; with expected delays as here, Arivazhagan et al. 2019, section 4:

        DAL = 1/|y| sum over i of (g'[i] - (i-1)/gamma),  g'[i] = max(g[i], g'[i-1] + 1/gamma),  gamma = |y|/|x|

    whose terms are g'[i] - (i-1)/gamma = the largest g[n] - (n-1)/gamma with n <= i.

    delays: [B, T], g: the (expected) number of source tokens read when each target token is written.
    source_lengths: [B], |x|; target_mask: [B, T] bool, true on the first |y| steps of each row, padding behind them.
    Returns [B], in source tokens; 0 for a row without targets.

    Computed in float64 where the device has it; returned in float32, or float64 where `delays` is.
    """
    dtype = inside(delays.device)
    steps = torch.arange(delays.shape[1], device=delays.device, dtype=dtype)
    target_lengths = target_mask.sum(1).clamp(min=1)
    pace = source_lengths.to(dtype) / target_lengths
    lag = (delays.to(dtype) - steps * pace[:, None]).cummax(1).values
    return (torch.where(target_mask, lag, 0.0).sum(1) / target_lengths).to(returned(delays))
