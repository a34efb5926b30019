"""Triton kernels of linear recurrences for GPUs. A program takes the steps of 32 hidden units of a row in turn, with
their state in registers.

`mt.ops.scan` has the equations. The import of this module needs Triton.
"""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

UNITS = 32
"""Hidden units of a program: one for each thread of its warp."""


class FusedScan(Function):
    """`mt.ops.linear_scan` of decay and inputs [N, T, H] and start [N, H] of one dtype by a kernel for each pass."""

    @staticmethod
    def forward(ctx, decay: Tensor, inputs: Tensor, start: Tensor, reverse: bool) -> Tensor:
        decay = decay.contiguous()
        start = start.contiguous()
        states = torch.empty_like(decay)
        _launch(_forward, reverse, decay, inputs.contiguous(), start, states)
        ctx.save_for_backward(decay, states, start)
        ctx.reverse = reverse
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_states: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        decay, states, start = ctx.saved_tensors
        grads = (torch.empty_like(decay), torch.empty_like(decay), torch.empty_like(start))
        _launch(_backward, not ctx.reverse, decay, states, start, grad_states.contiguous(), *grads)
        return *grads, None


def _launch(kernel: Any, from_the_end: bool, decay: Tensor, *tensors: Tensor) -> None:
    rows, steps, hidden = decay.shape
    first, stride = ((steps - 1) * hidden, -hidden) if from_the_end else (0, hidden)
    with torch.cuda.device_of(decay):
        kernel[(rows, triton.cdiv(hidden, UNITS))](decay, *tensors, first, stride, steps, hidden, UNITS, num_warps=1)


# The kernels. Triton compiles them as they stand, so that no test may wrap them: hence @no_type_check.
# Any length runs through the same compiled kernel: lengths change with every batch. first: the place in a row where the
# first step begins; stride: from there to the next one. Loops load ahead (num_stages), since a step waits for nothing
# else.
_LENGTHS = ["first", "stride", "steps", "hidden"]


@triton.jit(do_not_specialize=_LENGTHS)
@no_type_check
def _forward(decay, inputs, start, states, first, stride, steps, hidden, UNITS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    inside = unit < hidden
    cell = row * steps * hidden + first + unit
    carried = tl.load(start + row * hidden + unit, mask=inside, other=0.0).to(tl.float64)
    for _ in tl.range(0, steps, num_stages=4, loop_unroll_factor=2):
        a = tl.load(decay + cell, mask=inside, other=0.0).to(tl.float64)
        b = tl.load(inputs + cell, mask=inside, other=0.0).to(tl.float64)
        carried = a * carried + b
        tl.store(states + cell, carried, mask=inside)
        cell += stride


@triton.jit(do_not_specialize=_LENGTHS)
@no_type_check
def _backward(
    decay,
    states,
    start,
    grad_states,
    grad_decay,
    grad_inputs,
    grad_start,
    first,
    stride,
    steps,
    hidden,
    UNITS: tl.constexpr,
):
    """carried: the gradient that a state gets from later ones."""
    row = tl.program_id(0).to(tl.int64)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    inside = unit < hidden
    cell = row * steps * hidden + first + unit
    edge = row * hidden + unit
    begin = tl.load(start + edge, mask=inside, other=0.0).to(tl.float64)
    carried = tl.zeros([UNITS], tl.float64)
    # From the last step to the first: the gradient of a state is its own and the carried one.
    for left in tl.range(steps, 0, -1, num_stages=4, loop_unroll_factor=2):
        more = left > 1
        grad = tl.load(grad_states + cell, mask=inside, other=0.0).to(tl.float64) + carried
        before = tl.load(states + cell + stride, mask=inside & more, other=0.0).to(tl.float64)
        before = tl.where(more, before, begin)
        a = tl.load(decay + cell, mask=inside, other=0.0).to(tl.float64)
        tl.store(grad_inputs + cell, grad, mask=inside)
        tl.store(grad_decay + cell, grad * before, mask=inside)
        carried = a * grad
        cell += stride
    tl.store(grad_start + edge, carried, mask=inside)
