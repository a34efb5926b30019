"""The expected alignment of hard monotonic attention (Raffel et al. 2017, section 2.3), exact and without division.

With p[i, j] the probability of stopping at source position j in target step i, equations 13 and 14 read

    q[i, j] = (1 - p[i, j-1]) q[i, j-1] + alpha[i-1, j]        (q: the probability that step i looks at position j)
    alpha[i, j] = p[i, j] q[i, j]

The closed form of the paper (equation 29) divides by a cumulative product that underflows; every implementation of it
clamps, and is then wrong by up to the whole mass. But both terms of q[i, j] lie on the anti-diagonal i + j - 1, so all
cells of one anti-diagonal can be computed at once: T + S - 1 vectorised steps, sums of non-negative products only,
exact for any p in [0, 1]. The gradient is the same sweep backwards. On a CPU the cells are better computed one by one,
in machine code (`mt.ops.compiled`), where that can be had.
"""

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from mt.ops.compiled import CompiledAlignment, kernels
from mt.ops.precision import returned


def expected_alignment(p: Tensor, start: Tensor) -> Tensor:
    """The probability that target step i stops at source position j, for all i and j.

    p: [B, T, S], the stopping probabilities, each in [0, 1]; 0 on padded positions keeps the result exact.
    start: [B, S], the alignment before the first step; one-hot on position 0 at the start of a sentence.
    Returns alpha: [B, T, S]. Rows sum to at most 1; the missing mass has left the sentence without stopping.

    Computed and returned in float32, or float64 where an argument is float64. Differentiable once, in both arguments.
    """
    if p.dim() != 3 or start.shape != (p.shape[0], p.shape[2]):
        raise ValueError(f"expected p [B, T, S] and start [B, S], got {tuple(p.shape)} and {tuple(start.shape)}")
    dtype = returned(p, start)
    p, start = p.to(dtype), start.to(dtype)
    if p.numel() == 0:
        return torch.zeros_like(p)
    compiled = kernels(dtype) if p.device.type == "cpu" else None
    return CompiledAlignment.apply(p, start, *compiled) if compiled else Wavefront.apply(p, start)


class Wavefront(Function):
    """`expected_alignment` of p [B, T, S] and start [B, S] of one dtype, on any device."""

    @staticmethod
    def forward(ctx, p: Tensor, start: Tensor) -> Tensor:
        positions = p.shape[2]
        p_skew = _skew(p)
        q_skew = torch.zeros_like(p_skew)
        q_skew[:positions, :, 0] = start.T
        diagonals = q_skew.unbind()
        for stop, look, following in zip(p_skew.unbind()[:-1], diagonals[:-1], diagonals[1:], strict=True):
            selected = stop * look
            following += look - selected
            following[:, 1:] += selected[:, :-1]
        ctx.save_for_backward(p_skew, q_skew)
        return _unskew(p_skew * q_skew, positions)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_alpha: Tensor) -> tuple[Tensor, Tensor]:
        p_skew, q_skew = ctx.saved_tensors
        positions = grad_alpha.shape[2]
        # worth: what mass that stops here is worth, by itself and as what the next target step starts from.
        # grad_q: what mass that looks here is worth: stopping with p, or looking at the next position with 1 - p.
        worth = _skew(grad_alpha)
        grad_q = torch.zeros(len(worth) + 1, *worth.shape[1:], dtype=worth.dtype, device=worth.device)
        diagonals = grad_q.unbind()
        for d in reversed(range(len(worth))):
            following = diagonals[d + 1]
            worth[d, :, :-1] += following[:, 1:]
            torch.lerp(following, worth[d], p_skew[d], out=diagonals[d])
        grad_p = _unskew(q_skew * (worth - grad_q[1:]), positions)
        return grad_p, grad_q[:positions, :, 0].T


def _skew(x: Tensor) -> Tensor:
    """[B, T, S] -> [T + S - 1, B, T]: entry (i + j, b, i) is x[b, i, j], and zero where there is none."""
    batch, steps, positions = x.shape
    diagonals = steps + positions - 1
    rows = pad(x, (0, steps)).reshape(batch, -1)[:, : steps * diagonals]
    return rows.reshape(batch, steps, diagonals).permute(2, 0, 1).contiguous()


def _unskew(x: Tensor, positions: int) -> Tensor:
    """The inverse of `_skew`."""
    _, batch, steps = x.shape
    rows = pad(x.permute(1, 2, 0).reshape(batch, -1), (0, steps))
    return rows.reshape(batch, steps, positions + steps)[:, :, :positions]
