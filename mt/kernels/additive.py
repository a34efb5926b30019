"""The additive energy, v . tanh(q + k) (Bahdanau et al. 2015, A.1.2), without a tensor of all its hidden units.

The plain expression writes B T S H hidden units to memory several times, and keeps them for the backward pass. On a CPU
a compiled loop computes each where it is used, in both passes. Elsewhere PyTorch computes them block by block, and once
more in the backward pass. First stands the function, then the blocks, then the loops.
"""

from functools import cache, partial
from typing import no_type_check

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from mt.kernels.compiled import ANY_ORDER, Loop, arrays, compiled, rational_tanh
from mt.kernels.precision import result_dtype
from mt.kernels.threads import at_once, shares

CACHED = 2**20
"""Hidden units in a block, for each thread of a CPU: they fit its cache."""
LARGE = 2**26
"""Hidden units in a block elsewhere: enough to keep a GPU busy."""
THREAD = 2**20
"""The fewest hidden units for each thread of compiled loops: about half a millisecond."""


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
    # In one type: by compiled loops on a CPU in float32, else block by block.
    dtype = result_dtype(queries, keys, direction)
    arguments = queries.to(dtype), keys.to(dtype), direction.to(dtype)
    kernels = additive_kernels() if queries.device.type == "cpu" and dtype == torch.float32 else None
    energy = CompiledAdditive.apply(*arguments, *kernels) if kernels else in_blocks(*arguments)
    return energy.to(queries.dtype)


def in_blocks(queries: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    """Computes `additive_energy` of tensors of one dtype, on any device, a block of hidden units at a time. For the
    gradient each block is computed again."""
    # A block has sentences with all their steps, or a few steps of one.
    _, steps, hidden = queries.shape
    largest = CACHED * torch.get_num_threads() if queries.device.type == "cpu" else LARGE
    lines = max(1, largest // max(1, keys.shape[1] * hidden))
    sentences = max(1, lines // max(1, steps))
    # No block draws random numbers, whose state could not be read while a GPU's steps are recorded.
    again = partial(checkpoint, _plain, use_reentrant=False, preserve_rng_state=False)
    rows = []
    for of_queries, of_keys in zip(queries.split(sentences), keys.split(sentences), strict=True):
        rows.append(torch.cat([again(block, of_keys, direction) for block in of_queries.split(lines, 1)], 1))
    return torch.cat(rows)


def _plain(queries: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    with torch.autocast(queries.device.type, enabled=False):
        return torch.tanh(queries[:, :, None] + keys[:, None]) @ direction


# The compiled loops, which no test may wrap: hence @no_type_check.


@cache
def additive_kernels() -> tuple[Loop, ...] | None:
    """Returns the loops of the additive energy, forward and backward, for float32; None where numba cannot."""
    row = "float32[::1]"
    matrix = "float32[:, ::1]"
    table = "float32[:, :, ::1]"
    forward = f"void({row}, {table}, {table}, {table})"
    backward = f"void({table}, {table}, {table}, {table}, {table}, {matrix})"
    loops = [(forward, _additive_forward), (backward, _additive_backward)]
    return compiled(loops, helpers=[rational_tanh], fastmath=ANY_ORDER)


class CompiledAdditive(Function):
    """`additive_energy` of float32 tensors by the kernels, in as many threads as PyTorch has."""

    @staticmethod
    def forward(ctx, queries: Tensor, keys: Tensor, direction: Tensor, forward: Loop, backward: Loop) -> Tensor:
        # The loops are compiled for tensors whose numbers lie side by side.
        queries = queries.contiguous()
        keys = keys.contiguous()
        direction = direction.contiguous()
        energy = queries.new_empty(*queries.shape[:2], keys.shape[1])
        _by_sentence(lambda *sentences: forward(*arrays(direction), *sentences), queries, keys, energy)
        ctx.save_for_backward(queries, keys, direction)
        ctx.kernel = backward
        return energy

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_energy: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        queries, keys, direction = ctx.saved_tensors
        grad_queries = torch.zeros_like(queries)
        grad_keys = torch.zeros_like(keys)
        # [B, H], a row for each sentence: no two threads add to the same numbers.
        grad_direction = queries.new_zeros(queries.shape[::2])
        _by_sentence(ctx.kernel, queries, keys, grad_energy.contiguous(), grad_queries, grad_keys, grad_direction)
        return direction * grad_queries, direction * grad_keys, grad_direction.sum(0), None, None


def _by_sentence(kernel: Loop, *tensors: Tensor) -> None:
    """Calls the kernel on slices of the sentences of the tensors [B, ...], each slice in a thread.

    tensors: queries [B, T, H], keys [B, S, H], and others.
    """
    batch, steps, hidden = tensors[0].shape
    positions = tensors[1].shape[1]
    slices = shares(batch, min(torch.get_num_threads(), batch * steps * positions * hidden // THREAD))
    at_once([partial(kernel, *arrays(*(x[share] for x in tensors))) for share in slices])


@no_type_check
def _additive_forward(direction, queries, keys, energy) -> None:
    """Fills energy [B, T, S]."""
    for b in range(queries.shape[0]):
        for i in range(queries.shape[1]):
            for j in range(keys.shape[1]):
                total = direction.dtype.type(0)
                for h in range(queries.shape[2]):
                    total += direction[h] * rational_tanh(queries[b, i, h] + keys[b, j, h])
                energy[b, i, j] = total


@no_type_check
def _additive_backward(queries, keys, grad_energy, grad_queries, grad_keys, grad_direction) -> None:
    """Adds to grad_direction [B, H], grad_queries [B, T, H] and grad_keys [B, S, H]. The caller multiplies the last two
    by the direction [H]."""
    for b in range(queries.shape[0]):
        for i in range(queries.shape[1]):
            for j in range(keys.shape[1]):
                grad = grad_energy[b, i, j]
                for h in range(queries.shape[2]):
                    tanh = rational_tanh(queries[b, i, h] + keys[b, j, h])
                    # tanh' = 1 - tanh^2. The direction, the same for all, multiplies the sums later.
                    slope = grad - grad * tanh * tanh
                    grad_direction[b, h] += grad * tanh
                    grad_queries[b, i, h] += slope
                    grad_keys[b, j, h] += slope
