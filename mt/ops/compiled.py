"""The expected alignment on CPU: the recurrence of `mt.ops.expected` cell by cell, in machine code made by numba.

From cell to cell the loops carry float64; what they read and write is in the dtype of the arguments.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

Array = Any
"""A contiguous array of numpy, sharing the memory of a tensor."""
Kernel = Callable[..., None]


@cache
def kernels(dtype: torch.dtype) -> tuple[Kernel, Kernel] | None:
    """The loops forward and backward in machine code for float32 or float64; None where numba cannot make them.

    The first call of a process loads numba, and compiles what no process before has left in numba's cache.
    """
    try:
        import numba  # Not above: it takes as long as importing torch.
    except Exception:  # Missing, or at odds with the numpy that is here.
        return None
    scalar = numba.float64 if dtype == torch.float64 else numba.float32
    matrix, table = scalar[:, ::1], scalar[:, :, ::1]
    for caching in (True, False):  # The cache may be damaged, its disk full, or no folder writable.
        try:
            return (
                numba.njit(numba.void(table, matrix, table, table), cache=caching)(_forward),
                numba.njit(numba.void(table, table, table, table, matrix), cache=caching)(_backward),
            )
        except Exception:  # Of any kind: the same result can be had without a compiler.
            continue
    return None


class CompiledAlignment(Function):
    """`expected_alignment` of p [B, T, S] and start [B, S] by the kernels of their dtype."""

    @staticmethod
    def forward(ctx, p: Tensor, start: Tensor, forward: Kernel, backward: Kernel) -> Tensor:
        p = p.contiguous()
        q, alpha = torch.empty_like(p), torch.empty_like(p)
        forward(*_arrays(p, start.contiguous(), q, alpha))
        ctx.save_for_backward(p, q)
        ctx.kernel = backward
        return alpha

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_alpha: Tensor) -> tuple[Tensor, Tensor, None, None]:
        p, q = ctx.saved_tensors
        grad_p, grad_start = torch.empty_like(p), torch.zeros_like(p[:, 0])
        ctx.kernel(*_arrays(p, q, grad_alpha.contiguous(), grad_p, grad_start))
        return grad_p, grad_start, None, None


def _arrays(*tensors: Tensor) -> list[Array]:
    return [tensor.detach().numpy() for tensor in tensors]


def _forward(p: Array, start: Array, q: Array, alpha: Array) -> None:
    """Fills q and alpha, [B, T, S], from p [B, T, S] and start [B, S]."""
    for b in range(p.shape[0]):
        for i in range(p.shape[1]):
            previous = alpha[b, i - 1] if i else start[b]
            look = 0.0
            for j in range(p.shape[2]):
                look += previous[j]
                q[b, i, j] = look
                alpha[b, i, j] = p[b, i, j] * look
                look *= 1.0 - p[b, i, j]


def _backward(p: Array, q: Array, grad_alpha: Array, grad_p: Array, grad_start: Array) -> None:
    """Fills grad_p, [B, T, S], and adds to grad_start, [B, S], the gradient at the first step.

    Mass that looks at j is worth `stopped` with probability p, and else `passed`: what it is worth at j + 1.
    """
    for b in range(p.shape[0]):
        worth = grad_start[b]
        for i in range(p.shape[1] - 1, -1, -1):
            passed = 0.0
            for j in range(p.shape[2] - 1, -1, -1):
                stopped = grad_alpha[b, i, j] + worth[j]
                grad_p[b, i, j] = q[b, i, j] * (stopped - passed)
                passed = p[b, i, j] * stopped + (1.0 - p[b, i, j]) * passed
                worth[j] = passed
