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

Two kernels are faster. On a CPU with numba it is a compiled loop over the cells (`mt.kernels.alignment`), on a GPU
one Triton kernel for all steps (`mt.kernels.triton_kernels`).
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from mt.kernels.alignment import CompiledAlignment, alignment_kernels
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
    # By the fastest way that works here.
    device = p_choose.device
    if device.type == "cpu" and (kernels := alignment_kernels(dtype)):
        return CompiledAlignment.apply(p_choose, start, *kernels)
    if device.type == "cuda" and (fused := fused_alignment(device, dtype, block_size(p_choose.shape[2]), wavefront)):
        return fused(p_choose, start)
    return wavefront(p_choose, start)


def wavefront(p_choose: Float[Tensor, "B T S"], start: Float[Tensor, "B S"]) -> Float[Tensor, "B T S"]:
    """Computes `expected_alignment` of arguments of one dtype, by anti-diagonals, on any device."""
    _, steps, positions = p_choose.shape
    dtype = compute_dtype(p_choose.device)
    # The start enters the first step, one position after another: [B, S] -> [T + S - 1, B, T].
    entering = pad(start.T[..., None].to(dtype), (0, steps - 1, 0, 0, 0, steps - 1))
    reached = torch.zeros_like(entering[0])
    alphas = []
    for p, starting in zip(_to_diagonals(p_choose, dtype).unbind(), entering.unbind(), strict=True):
        q = reached + starting
        alpha = p * q
        alphas.append(alpha)
        # What does not stop goes to the next position, and what stops to the next step.
        reached = q - alpha + pad(alpha, (1, -1))
    return _from_diagonals(torch.stack(alphas), positions, p_choose.dtype)


def _to_diagonals(x: Tensor, dtype: torch.dtype) -> Tensor:
    """[B, T, S] -> [T + S - 1, B, T]. Entry (i + j, b, i) is x[b, i, j], and 0 where there is no such position."""
    batch, steps, positions = x.shape
    diagonals = steps + positions - 1
    # Each step is one column longer than a diagonal is apart from the next: read as a matrix, the steps are skewed.
    padded = pad(x, (0, steps)).reshape(batch, -1)[:, : steps * diagonals]
    skewed = padded.reshape(batch, steps, diagonals).permute(2, 0, 1)
    # One pass over memory changes both the order and the type.
    return torch.empty(skewed.shape, dtype=dtype, device=x.device).copy_(skewed)


def _from_diagonals(x: Tensor, positions: int, dtype: torch.dtype) -> Tensor:
    """Returns the inverse of `_to_diagonals`."""
    _, batch, steps = x.shape
    padded = pad(x.permute(1, 2, 0).to(dtype).reshape(batch, -1), (0, steps))
    return padded.reshape(batch, steps, positions + steps)[:, :, :positions]
