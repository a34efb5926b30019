"""MoChA, monotonic chunkwise attention: soft attention over a chunk that ends where the monotonic attention stops
(Chiu & Raffel 2018, section 2.3).

    beta[j] = sum over k = j .. j+w-1 of  alpha[k] exp(u[j]) / sum over l = k-w+1 .. k of exp(u[l])        (equation 13)

The paper's moving sums of exp(u) (equation 19) need one offset for the whole sentence, and underflow where a chunk lies
far below it. Here each chunk has its own offset, the largest energy inside it.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from mt.kernels.precision import result_dtype
from mt.kernels.sequences import shift_left, shift_right


def chunkwise_attention(
    alpha: Float[Tensor, "*batch S"], energy: Float[Tensor, "*batch S"], chunk_size: int
) -> Float[Tensor, "*batch S"]:
    """Distributes the probability of each stop over the `chunk_size` positions ending there, by their softmax.

    alpha: the probability of stopping at each position. energy: u, finite, or -inf on padding.
    chunk_size: w >= 1; chunks are cut at the left edge of the sentence.
    Returns beta, whose sum is that of alpha.

    Computed and returned in float32, or float64 where an argument is float64. Differentiable once, in both arguments.
    Time is O(S w) per row; memory is O(S) per row for any w.
    """
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, got {chunk_size}")
    dtype = result_dtype(alpha, energy)
    alpha = alpha.to(dtype)
    energy = energy.to(dtype)
    if alpha.numel() == 0:
        # `max` over no positions is an error. The product has the shape, and gradients to both arguments.
        return alpha * energy
    # Offsets that reach beyond the whole source would only add zeros.
    return _Chunkwise.apply(alpha, energy, min(chunk_size, alpha.shape[-1]))


class _Chunkwise(Function):
    @staticmethod
    def forward(ctx, alpha: Tensor, energy: Tensor, chunk_size: int) -> Tensor:
        largest, peak, total = _chunks(energy, chunk_size)
        # Each stop shares out its probability, one distance from the stop at a time.
        alpha_over_total = alpha / total
        beta = torch.zeros_like(alpha)
        for offset in range(chunk_size):
            # Beyond the end there are no chunks: the offset is infinite there, so that the exponential is 0.
            beta += shift_left(alpha_over_total, offset) * (energy - shift_left(largest, offset, torch.inf)).exp()
        ctx.save_for_backward(alpha, energy, largest, peak, total)
        ctx.chunk_size = chunk_size
        return beta

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_beta: Tensor) -> tuple[Tensor, Tensor, None]:
        """With s[k, j] the softmax of chunk k, and g = grad_beta:

            grad_alpha[k] = sum over j of s[k, j] g[j] =: mean[k]
            grad_energy[j] = sum over k of alpha[k] s[k, j] (g[j] - mean[k])

        Where one position has nearly all of s, g[j] - mean[k] would be lost in rounding. So g is relative to its value
        at the chunk's largest energy: mean = grad_at_largest + rest, with rest as small as the other shares.
        """
        alpha, energy, largest, peak, total = ctx.saved_tensors
        # A chunk of nothing but -inf has no largest energy.
        grad_at_largest = grad_beta.gather(-1, peak).masked_fill(largest == torch.finfo(energy.dtype).min, 0.0)
        # First the rest of each chunk's mean, then what each energy has of all chunks that hold it.
        rest = torch.zeros_like(alpha)
        for offset in range(ctx.chunk_size):
            weight = (shift_right(energy, offset, -torch.inf) - largest).exp()
            rest += weight * (shift_right(grad_beta, offset) - grad_at_largest)
        rest /= total
        alpha_over_total = alpha / total
        grad_energy = torch.zeros_like(energy)
        for offset in range(ctx.chunk_size):
            weight = shift_left(alpha_over_total, offset) * (energy - shift_left(largest, offset, torch.inf)).exp()
            grad_energy += weight * ((grad_beta - shift_left(grad_at_largest, offset)) - shift_left(rest, offset))
        return grad_at_largest + rest, grad_energy, None


def _chunks(energy: Tensor, chunk_size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the largest energy of the chunk that ends at each position, its position, and sum of exp(u - largest)."""
    largest, peak = pad(energy, (chunk_size - 1, 0), value=-torch.inf).unfold(-1, chunk_size, 1).max(-1)
    positions = torch.arange(energy.shape[-1], device=energy.device)
    # From places in the padded window to positions of the sentence.
    peak = (peak + positions - (chunk_size - 1)).clamp(min=0)
    # Finite, so that a chunk of nothing but -inf has zeros rather than NaN.
    largest = largest.clamp(min=torch.finfo(energy.dtype).min)
    total = torch.zeros_like(energy)
    for offset in range(chunk_size):
        total += (shift_right(energy, offset, -torch.inf) - largest).exp()
    # The largest energy alone adds 1, so that only the sum of a chunk of -inf is raised.
    return largest, peak, total.clamp(min=1.0)
