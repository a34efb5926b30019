"""MILk, monotonic infinite lookback attention: soft attention over everything up to where the hard attention stops
(Arivazhagan et al. 2019, section 3.1).

    beta[j] = sum over k >= j of  alpha[k] exp(u[j]) / Z[k],   Z[k] = sum over l <= k of exp(u[l])

Implementations that evaluate this as two cumulative sums need one offset for the sentence, clamp, and lose the stops
before a large energy. Here only ratios occur, all in [0, 1]: of what stops at k or later, position k takes the share
exp(u[k]) / Z[k] and leaves Z[k-1] / Z[k] to those before it, which is a linear recurrence.
"""

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.ops.precision import inside, returned
from mt.ops.scan import earlier, later, linear_scan


def look_back(alpha: Tensor, energy: Tensor) -> Tensor:
    """Spreads each stop's probability over all positions up to it, by their softmax.

    alpha: [..., S], the probability of stopping at each position; energy: [..., S], the energies u, finite or -inf.
    Returns beta: [..., S], of the same total mass as alpha, but that stops with nothing but -inf up to them give none.

    Computed in float64 where the device has it; returned in float32, or float64 where an argument is float64.
    Differentiable once, in both arguments.
    """
    if alpha.shape != energy.shape:
        raise ValueError(f"alpha and energy must have one shape, got {tuple(alpha.shape)} and {tuple(energy.shape)}")
    dtype = inside(energy.device)
    return _LookBack.apply(alpha.to(dtype), energy.to(dtype)).to(returned(alpha, energy))


class _LookBack(Function):
    @staticmethod
    def forward(ctx, alpha: Tensor, energy: Tensor) -> Tensor:
        # An empty sum is finite, so that a first energy of -inf gets a share of 0 rather than NaN.
        empty = torch.finfo(energy.dtype).min
        log_odds = energy - earlier(energy.logcumsumexp(-1), fill=empty).clamp(min=empty)
        share, rest = log_odds.sigmoid(), (-log_odds).sigmoid()
        mass = linear_scan(later(rest), alpha, reverse=True)
        ctx.save_for_backward(share, rest, mass)
        return share * mass

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_beta: Tensor) -> tuple[Tensor, Tensor]:
        share, rest, mass = ctx.saved_tensors
        mean = linear_scan(rest, share * grad_beta)  # of each stop's softmax
        # To raise an energy moves mass to it (slope) from those before it, in proportion to their shares (owed).
        slope = mass * share * rest * (grad_beta - earlier(mean))
        owed = linear_scan(later(rest), later(slope), reverse=True)
        return mean, slope - share * owed
