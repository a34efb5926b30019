"""The expected alignment in compiled loops over its cells, for CPUs; see `mt.ops.expected`."""

from functools import cache
from typing import no_type_check

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.kernels.compiled import Loop, arrays, compiled


@cache
def alignment_kernels(dtype: torch.dtype) -> tuple[Loop, ...] | None:
    """Returns the loops of the expected alignment, forward and backward, for one dtype; None where numba cannot."""
    number = "float64" if dtype == torch.float64 else "float32"
    row = "float64[::1]"
    matrix = f"{number}[:, ::1]"
    table = f"{number}[:, :, ::1]"
    forward = f"void({table}, {matrix}, {table}, {table}, {row})"
    backward = f"void({table}, {table}, {table}, {table}, {matrix}, {row})"
    return compiled([(forward, _alignment_forward), (backward, _alignment_backward)])


class CompiledAlignment(Function):
    """`expected_alignment` of p_choose [B, T, S] and start [B, S] by the kernels of their dtype."""

    @staticmethod
    def forward(ctx, p_choose: Tensor, start: Tensor, forward: Loop, backward: Loop) -> Tensor:
        p_choose = p_choose.contiguous()
        q = torch.empty_like(p_choose)
        alpha = torch.empty_like(p_choose)
        forward(*arrays(p_choose, start.contiguous(), q, alpha, _row(p_choose)))
        ctx.save_for_backward(p_choose, q)
        ctx.kernel = backward
        return alpha

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_alpha: Tensor) -> tuple[Tensor, Tensor, None, None]:
        p_choose, q = ctx.saved_tensors
        grad_p = torch.empty_like(p_choose)
        grad_start = torch.empty_like(p_choose[:, 0])
        ctx.kernel(*arrays(p_choose, q, grad_alpha.contiguous(), grad_p, grad_start, _row(p_choose)))
        return grad_p, grad_start, None, None


def _row(x: Tensor) -> Tensor:
    """Returns a row [S] for x [B, T, S], which the loops carry from one target step to the next."""
    # In float64, since the rounding of each step goes into all later ones.
    return torch.empty(x.shape[2], dtype=torch.float64)


# The loops. numba compiles them as they stand, so that no test may wrap them: hence @no_type_check.


@no_type_check
def _alignment_forward(p, start, q, alpha, previous) -> None:
    """Fills q and alpha [B, T, S] from p [B, T, S] and start [B, S]; previous [S] is alpha[i-1] in float64."""
    for b in range(p.shape[0]):
        for j in range(p.shape[2]):
            previous[j] = start[b, j]
        for i in range(p.shape[1]):
            # The probability moves right along the row: some stops at each position, and the rest is passed on.
            passed = 0.0
            for j in range(p.shape[2]):
                # q[i, j] = (1 - p[i, j-1]) q[i, j-1] + alpha[i-1, j]: what comes from the left, and began here.
                reached = passed + previous[j]
                previous[j] = p[b, i, j] * reached
                passed = (1.0 - p[b, i, j]) * reached
                q[b, i, j] = reached
                alpha[b, i, j] = previous[j]


@no_type_check
def _alignment_backward(p, q, grad_alpha, grad_p, grad_start, grad_q) -> None:
    """Fills grad_p [B, T, S] and grad_start [B, S]; grad_q [S] is that of step i+1, then of step i, in float64."""
    for b in range(p.shape[0]):
        for j in range(p.shape[2]):
            grad_q[j] = 0.0
        for i in range(p.shape[1] - 1, -1, -1):
            # The same cells from right to left; `passed` is grad_q of the position to the right.
            passed = 0.0
            for j in range(p.shape[2] - 1, -1, -1):
                # What stops here counts in this step, and begins the next one here.
                stopped = grad_alpha[b, i, j] + grad_q[j]
                grad_p[b, i, j] = q[b, i, j] * (stopped - passed)
                passed = p[b, i, j] * stopped + (1.0 - p[b, i, j]) * passed
                grad_q[j] = passed
        for j in range(p.shape[2]):
            grad_start[b, j] = grad_q[j]
