"""Triton kernels of the expected alignment, for GPUs. Importing this module needs Triton.

Each kernel takes the steps of a sequence in turn. For an expected alignment a program of one warp takes a sentence.
A row of q is a linear recurrence over the source, q[j] = decay[j] q[j-1] + input[j]. Maps x -> decay x + input can be
composed in any grouping. So a block of columns is one scan in float64, by sums of non-negative products. The blocks of
a longer source are launched one after another, and pass their last column on in float64.

Scans go forward only and within one warp: Triton has returned wrong results for reversed scans and for scans across
warps (triton-lang/triton issues 2361 and 4362; ROCm/triton issue 947).

Triton compiles the kernels as they stand, so that no test may wrap them: hence @no_type_check. Any length runs through
the same compiled kernel, since lengths change with every batch: hence `do_not_specialize`.
"""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class FusedAlignment(Function):
    """`expected_alignment` of p_choose [B, T, S] and start [B, S] of one dtype, by blocks of columns, a power of 2."""

    @staticmethod
    def forward(ctx, p_choose: Tensor, start: Tensor, block: int) -> Tensor:
        p_choose = p_choose.contiguous()
        q = torch.empty_like(p_choose)
        alpha = torch.empty_like(p_choose)
        firsts = range(0, p_choose.shape[2], block)
        _launch_alignment(_alignment_forward, firsts, p_choose, start.contiguous(), q, alpha)
        ctx.save_for_backward(p_choose, q)
        ctx.firsts = firsts
        return alpha

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_alpha: Tensor) -> tuple[Tensor, Tensor, None]:
        p_choose, q = ctx.saved_tensors
        grad_p = torch.empty_like(p_choose)
        grad_start = torch.empty_like(p_choose[:, 0])
        # The last block of columns first, as gradients go from right to left.
        _launch_alignment(
            _alignment_backward, ctx.firsts[::-1], p_choose, q, grad_alpha.contiguous(), grad_p, grad_start
        )
        return grad_p, grad_start, None


def _launch_alignment(kernel: Any, firsts: range, p_choose: Tensor, *tensors: Tensor) -> None:
    """Runs the kernel on the blocks of columns that begin at `firsts`, in this order."""
    batch, steps, positions = p_choose.shape
    entering = torch.zeros(batch, steps, dtype=torch.float64, device=p_choose.device)
    with torch.cuda.device_of(p_choose):
        for first in firsts:
            leaving = torch.empty_like(entering)
            sizes = (first, steps, positions, abs(firsts.step))
            kernel[(batch,)](p_choose, *tensors, entering, leaving, *sizes, num_warps=1)
            # What leaves a block enters the next one, whichever way they go.
            entering = leaving


@triton.jit
@no_type_check
def _then(decay, entering, next_decay, next_entering):
    """Composes x -> decay x + entering with the next such map."""
    return decay * next_decay, next_decay * entering + next_entering


@triton.jit(do_not_specialize=["first", "steps", "positions"])
@no_type_check
def _alignment_forward(p, start, q, alpha, entering, leaving, first, steps, positions, BLOCK: tl.constexpr):
    """Fills a block of columns of q and alpha [B, T, S] from p [B, T, S] and start [B, S].

    entering and leaving [B, T]: (1 - p) q of the column before the block, and of its last.
    """
    # One lane for each column j of the block. Cells and edges count from the first step of the row, in int64, since
    # a batch may have more than 2^31 cells.
    row = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, BLOCK)
    j = first + k
    inside = j < positions
    cell = row * steps * positions + j
    edge = row * steps + tl.zeros_like(k)
    alpha_j = tl.load(start + row * positions + j, mask=inside, other=0.0).to(tl.float64)
    # Step by step: q as a scan over the block, alpha from it, and the value that enters the next block.
    for _ in range(steps):
        # The first lane's decay acts on nothing: what enters from the block before is (1 - p) q already.
        p_before = tl.load(p + cell - 1, mask=inside & (k > 0), other=0.0).to(tl.float64)
        p_j = tl.load(p + cell, mask=inside, other=0.0).to(tl.float64)
        reached = alpha_j + tl.load(entering + edge, mask=k == 0, other=0.0)
        _decay, q_j = tl.associative_scan((1.0 - p_before, reached), 0, _then)
        alpha_j = p_j * q_j
        tl.store(q + cell, q_j, mask=inside)
        tl.store(alpha + cell, alpha_j, mask=inside)
        tl.store(leaving + edge, (1.0 - p_j) * q_j, mask=k == BLOCK - 1)
        cell += positions
        edge += 1


@triton.jit(do_not_specialize=["first", "steps", "positions"])
@no_type_check
def _alignment_backward(
    p, q, grad_alpha, grad_p, grad_start, entering, leaving, first, steps, positions, BLOCK: tl.constexpr
):
    """Fills a block of columns of grad_p [B, T, S] and grad_start [B, S], scanning from its last column to its first.

    entering and leaving [B, T]: grad_q of the column after the block, and of its first.
    """
    # One lane for each column, the last column first, from the last step on.
    row = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, BLOCK)
    j = first + BLOCK - 1 - k
    inside = j < positions
    follows = (k > 0) & (j + 1 < positions)
    cell = (row * steps + steps - 1) * positions + j
    edge = row * steps + steps - 1 + tl.zeros_like(k)
    # grad_q of columns j and j + 1: each lane has both, since no lane can read another's.
    grad_j = tl.zeros([BLOCK], tl.float64)
    grad_after = tl.zeros([BLOCK], tl.float64)
    for _ in range(steps):
        p_after = tl.load(p + cell + 1, mask=follows, other=0.0).to(tl.float64)
        g_after = tl.load(grad_alpha + cell + 1, mask=follows, other=0.0).to(tl.float64)
        stopped_after = p_after * (g_after + grad_after) + tl.load(entering + edge, mask=k == 0, other=0.0)
        _decay, grad_after = tl.associative_scan((1.0 - p_after, stopped_after), 0, _then)
        # The gradient of p from both columns, then the value for the step before and the next block.
        p_j = tl.load(p + cell, mask=inside, other=0.0).to(tl.float64)
        stopped = tl.load(grad_alpha + cell, mask=inside, other=0.0).to(tl.float64) + grad_j
        q_j = tl.load(q + cell, mask=inside, other=0.0).to(tl.float64)
        tl.store(grad_p + cell, q_j * (stopped - grad_after), mask=inside)
        grad_j = p_j * stopped + (1.0 - p_j) * grad_after
        tl.store(leaving + edge, grad_j, mask=k == BLOCK - 1)
        cell -= positions
        edge -= 1
    tl.store(grad_start + row * positions + j, grad_j, mask=inside)
