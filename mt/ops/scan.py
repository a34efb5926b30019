"""First-order linear recurrences, as in SSRU (Kim et al. 2019) and minGRU (Feng et al. 2024): all steps at once, with
an exact gradient.

    h[t] = a[t] h[t-1] + b[t]

The closed form, with P[t] = a[0] ... a[t], divides by products that underflow:

    h[t] = P[t] (h[-1] + sum over u <= t of b[u] / P[u])

Here are sums of products alone. The steps are cut into chunks of about sqrt(T). From the first step of a chunk on,
`local` is the recurrence from zero, and P the product of a. The i-th state of chunk k is

    h[k, i] = local[k, i] + P[k, i] h[k - 1, last]

A step of `local` and P computes all chunks at once, and so does a product with the states before the chunks. Together
they are some 2 sqrt(T) vectorised steps. The gradient, with g = grad_h, is the same recurrence in the other direction:

    grad_b[t] = g[t] + a[t+1] grad_b[t+1]
    grad_a[t] = grad_b[t] h[t-1],   grad_start = a[0] grad_b[0]
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from mt.kernels.precision import compute_dtype, result_dtype


def linear_scan(
    decay: Float[Tensor, "*batch T H"],
    inputs: Float[Tensor, "*batch T H"],
    start: Float[Tensor, "*batch H"] | None = None,
    *,
    reverse: bool = False,
) -> Float[Tensor, "*batch T H"]:
    """Returns h[t] = decay[t] h[t-1] + inputs[t] with h[-1] = start.

    reverse: h[t] = decay[t] h[t+1] + inputs[t] with h[T] = start.

    decay: a; 1 where inputs are 0 leaves the state as it is, as on padding. start: zeros by default.

    Computed in float64 (MPS: float32); returned in float32, or float64 where an argument is float64. Differentiable
    once, in all arguments. Accurate for any decay in [0, 1], and any T. Raises ValueError where shapes do not fit.
    """
    # Checked at run time, as kernels would read beyond the end of a shorter array.
    *batch, steps, size = decay.shape
    if inputs.shape != decay.shape or (start is not None and start.shape != (*batch, size)):
        shapes = [tuple(x.shape) for x in (decay, inputs, start) if x is not None]
        raise ValueError(f"expected decay and inputs [*, T, H] and start [*, H], got {shapes}")
    if start is None:
        start = inputs.new_zeros(*batch, size)
    dtype = result_dtype(decay, inputs, start)
    # Nothing to compute, but a result of the right shape, on which a gradient may be asked.
    if decay.numel() == 0:
        return (decay * inputs + start[..., None, :]).to(dtype)
    # [*batch, T, H] -> [N, T, H]
    flat = (math.prod(batch), steps, size)
    decays = decay.to(dtype).reshape(flat)
    flat_inputs = inputs.to(dtype).reshape(flat)
    starts = start.to(dtype).reshape(flat[0], size)
    return Chunks.apply(decays, flat_inputs, starts, reverse).view(decay.shape)


class Chunks(Function):
    """`linear_scan` of decay and inputs [N, T, H] and start [N, H] of one dtype, in chunks, on any device."""

    @staticmethod
    def forward(ctx, decay: Tensor, inputs: Tensor, start: Tensor, reverse: bool) -> Tensor:
        states = _in_chunks(decay, inputs, start, reverse).to(decay.dtype)
        ctx.save_for_backward(decay, states, start)
        ctx.reverse = reverse
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_states: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        decay, states, start = ctx.saved_tensors
        # After the last step, nothing comes from later ones: its neighbour's decay is 0.
        extended = torch.cat((start[:, None], states) if not ctx.reverse else (states, start[:, None]), 1)
        previous = extended[:, 1:] if ctx.reverse else extended[:, :-1]
        later = pad(decay, (0, 0, 1, 0))[:, :-1] if ctx.reverse else pad(decay, (0, 0, 0, 1))[:, 1:]
        grad_inputs = _in_chunks(later, grad_states, torch.zeros_like(start), not ctx.reverse)
        begin = -1 if ctx.reverse else 0
        dtype = decay.dtype
        grad_start = decay[:, begin] * grad_inputs[:, begin]
        return (grad_inputs * previous).to(dtype), grad_inputs.to(dtype), grad_start.to(dtype), None


def _in_chunks(decay: Tensor, inputs: Tensor, start: Tensor, reverse: bool) -> Tensor:
    """Returns the states, in `compute_dtype`."""
    dtype = compute_dtype(decay.device)
    steps = decay.shape[1]
    size = max(1, math.isqrt(steps))
    missing = -steps % size
    # [N, T, H] -> [C, N, K, H]: a step of all K chunks is contiguous. The padding of the last chunk is never used.
    local, product = (
        pad(x.flip(1) if reverse else x, (0, 0, 0, missing)).unflatten(1, (-1, size)).permute(2, 0, 1, 3)
        for x in (inputs, decay)
    )
    local = torch.empty(local.shape, dtype=dtype, device=decay.device).copy_(local)
    product = torch.empty(product.shape, dtype=dtype, device=decay.device).copy_(product)
    # Within the chunks.
    for i in range(1, size):
        local[i].addcmul_(product[i], local[i - 1])
        product[i] *= product[i - 1]
    # From chunk to chunk, by the last states; then the state before a chunk enters each of its steps.
    states = [start.to(dtype)]
    for last, passed in zip(local[-1].unbind(1), product[-1].unbind(1), strict=True):
        states.append(torch.addcmul(last, passed, states[-1]))
    local.addcmul_(product, torch.stack(states[:-1], 1))
    # [C, N, K, H] -> [N, T, H]
    whole = local.permute(1, 2, 0, 3).flatten(1, 2)[:, :steps]
    return whole.flip(1) if reverse else whole
