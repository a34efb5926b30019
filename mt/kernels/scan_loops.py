"""Loops of linear recurrences for CPUs, compiled by numba: h[t] = a[t] h[t-1] + b[t] for each row and hidden unit.

`mt.ops.scan` has the equations, and the same in plain PyTorch; `mt.kernels.triton_scan` has kernels for GPUs.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import no_type_check

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.kernels.compiled import Loop, compiled
from mt.kernels.threads import at_once, shares

THREAD = 2**18
"""Cells for each thread at least: about a tenth of a millisecond."""


Kernel = Callable[[bool, tuple[Tensor, ...], tuple[Tensor, ...]], None]
"""Given whether the recurrence goes from the last step to the first, reads tensors and fills others."""


@cache
def scan_kernels(dtype: torch.dtype) -> tuple[Kernel, ...] | None:
    """Returns the loops of a linear recurrence, forward and backward, for one dtype; None where numba
    cannot."""
    number = "float64" if dtype == torch.float64 else "float32"
    row = "float64[::1]"
    matrix = f"{number}[:, ::1]"
    table = f"{number}[:, :, ::1]"
    forward = f"void({table}, {table}, {matrix}, boolean, {table}, {row})"
    backward = f"void({table}, {table}, {matrix}, {table}, boolean, {table}, {table}, {matrix}, {row})"
    # A product and a sum are rounded once, as torch.addcmul does.
    loops = compiled([(forward, _scan_forward), (backward, _scan_backward)], fastmath={"contract"})
    return None if loops is None else tuple(partial(_by_rows, loop) for loop in loops)


class CompiledScan(Function):
    """`linear_scan` of decay and inputs [N, T, H] and start [N, H] of one dtype by a kernel for each pass."""

    @staticmethod
    def forward(
        ctx, decay: Tensor, inputs: Tensor, start: Tensor, reverse: bool, forward: Kernel, backward: Kernel
    ) -> Tensor:
        decay = decay.contiguous()
        start = start.contiguous()
        states = torch.empty_like(decay)
        forward(reverse, (decay, inputs.contiguous(), start), (states,))
        ctx.save_for_backward(decay, states, start)
        ctx.reverse = reverse
        ctx.kernel = backward
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_states: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None, None]:
        decay, states, start = ctx.saved_tensors
        grads = (torch.empty_like(decay), torch.empty_like(decay), torch.empty_like(start))
        ctx.kernel(ctx.reverse, (decay, states, start, grad_states.contiguous()), grads)
        return *grads, None, None, None


def _by_rows(loop: Loop, reverse: bool, read: tuple[Tensor, ...], written: tuple[Tensor, ...]) -> None:
    """Calls the loop on slices of the rows of the tensors [N, ...], each slice in a thread."""
    rows, _, hidden = read[0].shape
    calls = []
    for share in shares(rows, min(torch.get_num_threads(), read[0].numel() // THREAD)):
        parts = [[x[share].detach().numpy() for x in tensors] for tensors in (read, written)]
        carried = torch.empty(hidden, dtype=torch.float64).numpy()
        calls.append(partial(loop, *parts[0], reverse, *parts[1], carried))
    at_once(calls)


# The loops. numba compiles them as they stand, so that no test may wrap them: hence @no_type_check. What is carried
# from step to step is in float64, so that 10,000 steps round as little as one.


@no_type_check
def _scan_forward(decay, inputs, start, reverse, states, carried) -> None:
    """Fills states [N, T, H]; carried [H]."""
    steps = decay.shape[1]
    for n in range(decay.shape[0]):
        for k in range(decay.shape[2]):
            carried[k] = start[n, k]
        for i in range(steps):
            t = steps - 1 - i if reverse else i
            for k in range(decay.shape[2]):
                carried[k] = decay[n, t, k] * carried[k] + inputs[n, t, k]
                states[n, t, k] = carried[k]


@no_type_check
def _scan_backward(decay, states, start, grad_states, reverse, grad_decay, grad_inputs, grad_start, carried) -> None:
    """Fills grad_decay and grad_inputs [N, T, H] and grad_start [N, H]; carried [H]: what reaches a state from later
    ones."""
    steps = decay.shape[1]
    for n in range(decay.shape[0]):
        for k in range(decay.shape[2]):
            carried[k] = 0.0
        for i in range(steps - 1, -1, -1):
            t = steps - 1 - i if reverse else i
            before = states[n, t + 1 if reverse else t - 1] if i else start[n]
            for k in range(decay.shape[2]):
                grad = grad_states[n, t, k] + carried[k]
                grad_inputs[n, t, k] = grad
                grad_decay[n, t, k] = grad * before[k]
                carried[k] = decay[n, t, k] * grad
        for k in range(decay.shape[2]):
            grad_start[n, k] = carried[k]
