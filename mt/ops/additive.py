"""The additive energy, v . tanh(q + k) (Bahdanau et al. 2015, A.1.2), without a tensor of all its hidden units.

The plain expression writes B T S H hidden units to memory several times, and keeps them for the backward pass. Here a
block of them that fits in the cache is made, used and dropped; the backward pass makes it again. And tanh is taken from
tanh(x) / 2 = sigmoid(2x) - 1/2, because on a CPU the sigmoid costs a fraction of tanh; its error is below 4e-7.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.ops.precision import returned

CACHED = 2**20
"""Hidden units in a block, for each thread of a CPU."""
LARGE = 2**26
"""Hidden units in a block elsewhere: enough to keep a GPU busy."""


def additive_energy(queries: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    """energy[b, i, j] = direction . tanh(queries[b, i] + keys[b, j]).

    queries: [B, T, H]; keys: [B, S, H]; direction: [H]. Returns [B, T, S] in the dtype of the queries.

    Computed, and gradients summed, in float32, or float64 where an argument is float64; autocast changes nothing in it.
    Differentiable once, in all arguments. Memory beyond them and the result is one block, of at least [S, H].
    """
    fits = queries.dim() == keys.dim() == 3 and queries.shape[::2] == keys.shape[::2] == (len(keys), *direction.shape)
    if not fits:
        shapes = ", ".join(str(tuple(x.shape)) for x in (queries, keys, direction))
        raise ValueError(f"expected queries [B, T, H], keys [B, S, H] and direction [H], got {shapes}")
    dtype = returned(queries, keys, direction)
    return _AdditiveEnergy.apply(queries.to(dtype), keys.to(dtype), direction.to(dtype)).to(queries.dtype)


class _AdditiveEnergy(Function):
    @staticmethod
    def forward(ctx, queries: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
        ctx.save_for_backward(queries, keys, direction)
        energy = queries.new_empty(*queries.shape[:2], keys.shape[1])
        with torch.autocast(queries.device.type, enabled=False):
            for rows, steps in _blocks(queries, keys):
                energy[rows, steps] = _half_tanh(queries[rows, steps], keys[rows]) @ (2 * direction)
        return energy

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_energy: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, direction = ctx.saved_tensors
        grad_queries, grad_keys = torch.empty_like(queries), torch.zeros_like(keys)
        grad_direction = torch.zeros_like(direction)
        with torch.autocast(queries.device.type, enabled=False):
            for rows, steps in _blocks(queries, keys):
                grad = grad_energy[rows, steps]
                half = _half_tanh(queries[rows, steps], keys[rows])
                grad_direction += 2 * (grad.reshape(-1) @ half.flatten(0, 2))
                # With h = tanh / 2, the derivative 1 - tanh^2 is -4 (h^2 - 1/4).
                slope = half.square_().sub_(0.25).mul_(grad[..., None])
                grad_queries[rows, steps] = slope.sum(2)
                grad_keys[rows] += slope.sum(1)
        return -4 * direction * grad_queries, -4 * direction * grad_keys, grad_direction


def _half_tanh(queries: Tensor, keys: Tensor) -> Tensor:
    """tanh(q + k) / 2. queries: [B, T, H]; keys: [B, S, H]; returns [B, T, S, H]."""
    return (2 * queries[:, :, None] + 2 * keys[:, None]).sigmoid_().sub_(0.5)


def _blocks(queries: Tensor, keys: Tensor) -> Iterator[tuple[slice, slice]]:
    """What to compute at a time: a few sentences with all their steps, or a few steps of one sentence."""
    batch, steps, hidden = queries.shape
    largest = CACHED * torch.get_num_threads() if queries.device.type == "cpu" else LARGE
    lines = max(1, largest // max(1, keys.shape[1] * hidden))
    sentences = max(1, lines // max(1, steps))
    for first in range(0, batch, sentences):
        for step in range(0, steps, lines):
            yield slice(first, first + sentences), slice(step, step + lines)
