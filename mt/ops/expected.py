"""The expected alignment of hard monotonic attention (Raffel et al. 2017, section 2.3), without division.

In target step i, q[i, j] is the probability that source position j is reached. The probability of stopping there, once
reached, is p[i, j]. Equations 13 and 14 read

    q[i, j] = (1 - p[i, j-1]) q[i, j-1] + alpha[i-1, j]
    alpha[i, j] = p[i, j] q[i, j]

The paper's closed form (equation 29) divides by a cumulative product that underflows. Implementations clamp it, and are
then wrong by up to the whole probability. But both terms of q[i, j] lie on the anti-diagonal i + j - 1. So all cells of
one anti-diagonal are computed at once: T + S - 1 vectorised steps, with sums of non-negative products only.
The gradient, with g = grad_alpha, goes through the same cells in reverse:

    grad_q[i, j] = p[i, j] (g[i, j] + grad_q[i+1, j]) + (1 - p[i, j]) grad_q[i, j+1],   grad_start[j] = grad_q[0, j]
    grad_p[i, j] = q[i, j] (g[i, j] + grad_q[i+1, j] - grad_q[i, j+1])

Two kernels are faster. On a CPU with numba it is a compiled loop over the cells (`mt.kernels.numba_loops`), on a GPU
one Triton kernel for all steps (`mt.kernels.triton_alignment`).
"""

from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from mt.kernels.numba_loops import CompiledAlignment, alignment_kernels
from mt.kernels.precision import compute_dtype, result_dtype
from mt.kernels.triton_check import block_size, fused_alignment


def expected_alignment(p_choose: Float[Tensor, "B T S"], start: Float[Tensor, "B S"]) -> Float[Tensor, "B T S"]:
    """Returns alpha[b, i, j], the probability that target step i stops at source position j.

    p_choose: p, each in [0, 1]; 0 on padding keeps the result exact.
    start: alpha of the step before the first; one-hot on position 0 at the start of a sentence.
    Rows of alpha sum to at most 1; the missing probability has left the sentence without stopping.

    Computed in float64; returned in float32, or float64 where an argument is float64. A float32 result is exact to a
    few roundings, for any T and S. MPS has no float64, where an error of up to (T + S) 2^-23 accumulates.
    Differentiable once, in both arguments.
    """
    # Checked at run time, as compiled loops would read beyond the end of a shorter array.
    if p_choose.dim() != 3 or start.shape != (p_choose.shape[0], p_choose.shape[2]):
        shapes = f"{tuple(p_choose.shape)} and {tuple(start.shape)}"
        raise ValueError(f"expected p_choose [B, T, S] and start [B, S], got {shapes}")
    dtype = result_dtype(p_choose, start)
    p_choose = p_choose.to(dtype)
    start = start.to(dtype)
    if p_choose.numel() == 0:
        return p_choose * start[:, None]
    device = p_choose.device
    if device.type == "cpu" and (kernels := alignment_kernels(dtype)):
        return CompiledAlignment.apply(p_choose, start, *kernels)
    if device.type == "cuda" and (fused := fused_alignment(device, dtype, block_size(p_choose.shape[2]), Wavefront)):
        return fused(p_choose, start)
    return Wavefront.apply(p_choose, start)


class Wavefront(Function):
    """`expected_alignment` of p_choose [B, T, S] and start [B, S] of one dtype, by anti-diagonals, on any device."""

    @staticmethod
    def forward(ctx, p_choose: Tensor, start: Tensor) -> Tensor:
        positions = p_choose.shape[2]
        p_diagonals = _to_diagonals(p_choose, compute_dtype(p_choose.device))
        q_diagonals = torch.zeros_like(p_diagonals)
        q_diagonals[:positions, :, 0] = start.T
        for p, (q, next_q) in zip(p_diagonals.unbind()[:-1], pairwise(q_diagonals.unbind()), strict=True):
            alpha = p * q
            next_q += q - alpha
            next_q[:, 1:] += alpha[:, :-1]
        q = _from_diagonals(q_diagonals, positions, p_choose.dtype)
        ctx.save_for_backward(p_choose, q)
        return p_choose * q

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_alpha: Tensor) -> tuple[Tensor, Tensor]:
        p_choose, q = ctx.saved_tensors
        dtype = compute_dtype(q.device)
        p_diagonals = _to_diagonals(p_choose, dtype)
        # g[i, j] + grad_q[i+1, j], once the loop has added the second term.
        stopped = _to_diagonals(grad_alpha, dtype)
        grad_q = torch.zeros(len(stopped) + 1, *stopped.shape[1:], dtype=dtype, device=q.device)
        diagonals = grad_q.unbind()
        for d in reversed(range(len(stopped))):
            next_grad_q = diagonals[d + 1]
            stopped[d, :, :-1] += next_grad_q[:, 1:]
            torch.lerp(next_grad_q, stopped[d], p_diagonals[d], out=diagonals[d])
        grad_p = q * _from_diagonals(stopped.sub_(grad_q[1:]), q.shape[2], q.dtype)
        return grad_p, grad_q[: q.shape[2], :, 0].T.to(q.dtype)


def _to_diagonals(x: Tensor, dtype: torch.dtype) -> Tensor:
    """[B, T, S] -> [T + S - 1, B, T]. Entry (i + j, b, i) is x[b, i, j], and 0 where there is no such position."""
    batch, steps, positions = x.shape
    diagonals = steps + positions - 1
    # Each step is one column longer than a diagonal is apart from the next: read as a matrix, the steps are skewed.
    padded = pad(x, (0, steps)).reshape(batch, -1)[:, : steps * diagonals]
    skewed = padded.reshape(batch, steps, diagonals).permute(2, 0, 1)
    return torch.empty(skewed.shape, dtype=dtype, device=x.device).copy_(skewed)


def _from_diagonals(x: Tensor, positions: int, dtype: torch.dtype) -> Tensor:
    """Returns the inverse of `_to_diagonals`."""
    _, batch, steps = x.shape
    padded = pad(x.permute(1, 2, 0).to(dtype).reshape(batch, -1), (0, steps))
    return padded.reshape(batch, steps, positions + steps)[:, :, :positions]
