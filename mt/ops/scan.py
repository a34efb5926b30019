"""First-order linear recurrences, exact and without division."""

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from mt.ops.precision import returned


def linear_scan(decay: Tensor, inputs: Tensor, *, reverse: bool = False) -> Tensor:
    """h[j] = decay[j] h[j-1] + inputs[j] along the last dimension, with h[-1] = 0.

    `reverse` runs from the right: h[j] = decay[j] h[j+1] + inputs[j], with h[S] = 0.

    decay, inputs: [..., S]; returns h: [..., S].
    Computed and returned in float32, or float64 where an argument is float64. Differentiable once, in both arguments.
    """
    if decay.shape != inputs.shape:
        raise ValueError(f"decay and inputs must have one shape, got {tuple(decay.shape)} and {tuple(inputs.shape)}")
    dtype = returned(decay, inputs)
    return _LinearScan.apply(decay.to(dtype), inputs.to(dtype), reverse)


class _LinearScan(Function):
    @staticmethod
    def forward(ctx, decay: Tensor, inputs: Tensor, reverse: bool) -> Tensor:
        h = _scan(decay, inputs, reverse)
        ctx.save_for_backward(decay, h)
        ctx.reverse = reverse
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_h: Tensor) -> tuple[Tensor, Tensor, None]:
        decay, h = ctx.saved_tensors
        before, after = (later, earlier) if ctx.reverse else (earlier, later)
        # What h[j] is worth: its own gradient, and decay[j+1] of what h[j+1] is worth.
        grad_inputs = _scan(after(decay), grad_h, not ctx.reverse)
        return grad_inputs * before(h), grad_inputs, None


def _scan(decay: Tensor, inputs: Tensor, reverse: bool) -> Tensor:
    """The loop, over contiguous rows [N] of [S, N]."""
    decay_SN, inputs_SN = (x.movedim(-1, 0).contiguous() for x in (decay, inputs))
    h_SN = torch.empty_like(inputs_SN)
    rows = list(zip(decay_SN, inputs_SN, h_SN, strict=True))
    carried = torch.zeros_like(inputs[..., 0]) if rows else h_SN
    for factor, entering, out in reversed(rows) if reverse else rows:
        carried = torch.addcmul(entering, factor, carried, out=out)
    return h_SN.movedim(0, -1)


def earlier(x: Tensor, offset: int = 1, fill: float = 0.0) -> Tensor:
    """y[..., j] = x[..., j - offset]; `fill` before the sentence."""
    return pad(x, (offset, 0), value=fill)[..., : x.shape[-1]] if offset else x


def later(x: Tensor, offset: int = 1, fill: float = 0.0) -> Tensor:
    """y[..., j] = x[..., j + offset]; `fill` after the sentence."""
    return pad(x, (0, offset), value=fill)[..., offset:] if offset else x
