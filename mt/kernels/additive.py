"""The additive energy, v . tanh(q + k) (Bahdanau et al. 2015, A.1.2), without a tensor of all its hidden units.

The plain expression writes B T S H hidden units to memory several times, and keeps them for the backward pass. On a CPU
a compiled loop (`mt.kernels.numba_loops`) computes each where it is used, in both passes. Elsewhere PyTorch computes
them block by block, and once more in the backward pass.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.kernels.numba_loops import CompiledAdditive, additive_kernels
from mt.kernels.precision import result_dtype

CACHED = 2**20
"""Hidden units in a block, for each thread of a CPU: they fit its cache."""
LARGE = 2**26
"""Hidden units in a block elsewhere: enough to keep a GPU busy."""


def additive_energy(
    queries: Float[Tensor, "B T H"], keys: Float[Tensor, "B S H"], direction: Float[Tensor, " H"]
) -> Float[Tensor, "B T S"]:
    """Returns energy[b, i, j] = direction . tanh(queries[b, i] + keys[b, j]), in the dtype of the queries.

    Computed, and gradients summed, in float32, or float64 where an argument is float64; autocast changes nothing in it.
    Each tanh has a relative error below 4e-7, near zero as well. Differentiable once, in all arguments.
    Memory beyond arguments and result: none, or one block of at least [S, H] where there is no compiled loop.
    """
    if torch.compiler.is_compiling():  # a graph that is exported has the plain expression, and any number of rows
        return (torch.tanh(queries[:, :, None] + keys[:, None]) * direction).sum(-1)
    # Checked at run time, as compiled loops would read beyond the end of a shorter array.
    fits = queries.dim() == keys.dim() == 3 and queries.shape[::2] == keys.shape[::2] == (len(keys), *direction.shape)
    if not fits:
        shapes = ", ".join(str(tuple(x.shape)) for x in (queries, keys, direction))
        raise ValueError(f"expected queries [B, T, H], keys [B, S, H] and direction [H], got {shapes}")
    dtype = result_dtype(queries, keys, direction)
    arguments = queries.to(dtype), keys.to(dtype), direction.to(dtype)
    kernels = additive_kernels() if queries.device.type == "cpu" and dtype == torch.float32 else None
    energy = CompiledAdditive.apply(*arguments, *kernels) if kernels else Blockwise.apply(*arguments)
    return energy.to(queries.dtype)


class Blockwise(Function):
    """`additive_energy` of tensors of one dtype, a block of hidden units at a time, on any device."""

    @staticmethod
    def forward(ctx, queries: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
        ctx.save_for_backward(queries, keys, direction)
        energy = queries.new_empty(*queries.shape[:2], keys.shape[1])
        with torch.autocast(queries.device.type, enabled=False):
            for sentences, steps in _blocks(queries, keys):
                energy[sentences, steps] = _tanh(queries[sentences, steps], keys[sentences]) @ direction
        return energy

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_energy: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, direction = ctx.saved_tensors
        grad_queries = torch.empty_like(queries)
        grad_keys = torch.zeros_like(keys)
        grad_direction = torch.zeros_like(direction)
        with torch.autocast(queries.device.type, enabled=False):
            for sentences, steps in _blocks(queries, keys):
                grad = grad_energy[sentences, steps]
                tanh = _tanh(queries[sentences, steps], keys[sentences])
                grad_direction += grad.reshape(-1) @ tanh.flatten(0, 2)
                # The derivative is 1 - tanh^2; its sign is put right at the end.
                slope = tanh.square_().sub_(1).mul_(grad[..., None])
                grad_queries[sentences, steps] = slope.sum(2)
                grad_keys[sentences] += slope.sum(1)
        return -direction * grad_queries, -direction * grad_keys, grad_direction


def _tanh(queries: Tensor, keys: Tensor) -> Tensor:
    """Returns tanh(q + k), [B, T, S, H]. queries: [B, T, H]; keys: [B, S, H]."""
    return (queries[:, :, None] + keys[:, None]).tanh_()


def _blocks(queries: Tensor, keys: Tensor) -> Iterator[tuple[slice, slice]]:
    """Yields the sentences and steps of each block: sentences with all their steps, or a few steps of one."""
    batch, steps, hidden = queries.shape
    largest = CACHED * torch.get_num_threads() if queries.device.type == "cpu" else LARGE
    lines = max(1, largest // max(1, keys.shape[1] * hidden))
    sentences = max(1, lines // max(1, steps))
    for sentence in range(0, batch, sentences):
        for step in range(0, steps, lines):
            yield slice(sentence, sentence + sentences), slice(step, step + lines)
