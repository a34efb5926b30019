"""MILk, monotonic infinite lookback attention: soft attention over all positions up to where the monotonic attention
stops (Arivazhagan et al. 2019, section 3.1).

    beta[j] = sum over k >= j of  alpha[k] exp(u[j]) / Z[k],   Z[k] = sum over l <= k of exp(u[l])

Two cumulative sums of exp(u) would need one offset for the whole sentence, and underflow far below it. Here only ratios
in [0, 1] occur. With share[k] = exp(u[k]) / Z[k] and rest[k] = Z[k-1] / Z[k] = 1 - share[k],

    beta[j] = share[j] mass[j],   mass[j] = alpha[j] + rest[j+1] mass[j+1]
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.kernels.precision import compute_dtype, result_dtype
from mt.kernels.sequences import shift_left, shift_right
from mt.ops.scan import linear_scan


def infinite_lookback_attention(
    alpha: Float[Tensor, "*batch S"], energy: Float[Tensor, "*batch S"]
) -> Float[Tensor, "*batch S"]:
    """Distributes the probability of each stop over all positions up to it, by the softmax of their energies.

    alpha: the probability of stopping at each position. energy: u, finite or -inf.
    Returns beta, whose sum is that of alpha, less the stops that have only energies of -inf up to them.

    Computed in float64 (MPS: float32); returned in float32, or float64 where an argument is float64.
    Differentiable once, in both arguments. Time and memory are O(S) per row.
    """
    dtype = compute_dtype(energy.device)
    return _InfiniteLookback.apply(alpha.to(dtype), energy.to(dtype)).to(result_dtype(alpha, energy))


class _InfiniteLookback(Function):
    @staticmethod
    def forward(ctx, alpha: Tensor, energy: Tensor) -> Tensor:
        # log Z[-1] is finite, so that a first energy of -inf has a share of 0 rather than NaN.
        empty = torch.finfo(energy.dtype).min
        log_odds = energy - shift_right(energy.logcumsumexp(-1), fill=empty).clamp(min=empty)
        # With the odds exp(u[k]) / Z[k-1], share and rest are the two sigmoids, whatever the energies.
        share = log_odds.sigmoid()
        rest = (-log_odds).sigmoid()
        # From the last stop back: mass[j] collects all stops at j or behind it.
        mass = _scan(shift_left(rest), alpha, reverse=True)
        ctx.save_for_backward(share, rest, mass)
        return share * mass

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_beta: Tensor) -> tuple[Tensor, Tensor]:
        """With g = grad_beta:

            mean[k] = rest[k] mean[k-1] + share[k] g[k]
            gain[k] = mass[k] share[k] rest[k] (g[k] - mean[k-1])       (by u[k] in share[k] and rest[k])
            taken[k] = gain[k+1] + rest[k+1] taken[k+1]                 (by u[k] in Z[k], the rest of all k' > k)
            grad_energy[k] = gain[k] - share[k] taken[k]

        The mean of g under the softmax of the stop at k is grad_alpha[k].
        """
        share, rest, mass = ctx.saved_tensors
        mean = _scan(rest, share * grad_beta)
        gain = mass * share * rest * (grad_beta - shift_right(mean))
        taken = _scan(shift_left(rest), shift_left(gain), reverse=True)
        return mean, gain - share * taken


def _scan(decay: Tensor, inputs: Tensor, *, reverse: bool = False) -> Tensor:
    """`linear_scan` along the last dimension."""
    return linear_scan(decay[..., None], inputs[..., None], reverse=reverse)[..., 0]
