"""Loops over single cells for CPUs (see `compiled`): the expected alignment and the additive energy. Their autograd
functions come first, then the loops."""

from functools import cache, partial
from typing import no_type_check

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.kernels.compiled import Array, Loop, compiled
from mt.kernels.threads import at_once, shares

ANY_ORDER = {"reassoc", "contract", "nsz"}
"""Lets sums be taken in any order, so that they are vectorised. NaN and infinity keep their meaning."""
THREAD = 2**20
"""The fewest hidden units of the additive energy for each thread: about half a millisecond."""


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


class CompiledAlignment(Function):
    """`expected_alignment` of p_choose [B, T, S] and start [B, S] by the kernels of their dtype."""

    @staticmethod
    def forward(ctx, p_choose: Tensor, start: Tensor, forward: Loop, backward: Loop) -> Tensor:
        p_choose = p_choose.contiguous()
        q = torch.empty_like(p_choose)
        alpha = torch.empty_like(p_choose)
        forward(*_arrays(p_choose, start.contiguous(), q, alpha, _row(p_choose)))
        ctx.save_for_backward(p_choose, q)
        ctx.kernel = backward
        return alpha

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_alpha: Tensor) -> tuple[Tensor, Tensor, None, None]:
        p_choose, q = ctx.saved_tensors
        grad_p = torch.empty_like(p_choose)
        grad_start = torch.empty_like(p_choose[:, 0])
        ctx.kernel(*_arrays(p_choose, q, grad_alpha.contiguous(), grad_p, grad_start, _row(p_choose)))
        return grad_p, grad_start, None, None


class CompiledAdditive(Function):
    """`additive_energy` of float32 tensors by the kernels, in as many threads as PyTorch has."""

    @staticmethod
    def forward(ctx, queries: Tensor, keys: Tensor, direction: Tensor, forward: Loop, backward: Loop) -> Tensor:
        queries = queries.contiguous()
        keys = keys.contiguous()
        direction = direction.contiguous()
        energy = queries.new_empty(*queries.shape[:2], keys.shape[1])
        _by_sentence(lambda *sentences: forward(*_arrays(direction), *sentences), queries, keys, energy)
        ctx.save_for_backward(queries, keys, direction)
        ctx.kernel = backward
        return energy

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_energy: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        queries, keys, direction = ctx.saved_tensors
        grad_queries = torch.zeros_like(queries)
        grad_keys = torch.zeros_like(keys)
        grad_direction = queries.new_zeros(queries.shape[::2])
        _by_sentence(ctx.kernel, queries, keys, grad_energy.contiguous(), grad_queries, grad_keys, grad_direction)
        return direction * grad_queries, direction * grad_keys, grad_direction.sum(0), None, None


def _row(x: Tensor) -> Tensor:
    """Returns [S] for x [B, T, S], which the loops carry from one target step to the next."""
    return torch.empty(x.shape[2], dtype=torch.float64)


def _arrays(*tensors: Tensor) -> list[Array]:
    return [tensor.detach().numpy() for tensor in tensors]


def _by_sentence(kernel: Loop, *tensors: Tensor) -> None:
    """Calls the kernel on slices of the sentences of the tensors [B, ...], each slice in a thread.

    tensors: queries [B, T, H], keys [B, S, H], and others.
    """
    batch, steps, hidden = tensors[0].shape
    positions = tensors[1].shape[1]
    slices = shares(batch, min(torch.get_num_threads(), batch * steps * positions * hidden // THREAD))
    at_once([partial(kernel, *_arrays(*(x[share] for x in tensors))) for share in slices])


# The loops. numba compiles them as they stand, so that no test may wrap them: hence @no_type_check.


@no_type_check
def _alignment_forward(p, start, q, alpha, previous) -> None:
    """Fills q and alpha [B, T, S] from p [B, T, S] and start [B, S]; previous [S] is alpha[i-1] in float64."""
    for b in range(p.shape[0]):
        for j in range(p.shape[2]):
            previous[j] = start[b, j]
        for i in range(p.shape[1]):
            passed = 0.0
            for j in range(p.shape[2]):
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
            passed = 0.0
            for j in range(p.shape[2] - 1, -1, -1):
                stopped = grad_alpha[b, i, j] + grad_q[j]
                grad_p[b, i, j] = q[b, i, j] * (stopped - passed)
                passed = p[b, i, j] * stopped + (1.0 - p[b, i, j]) * passed
                grad_q[j] = passed
        for j in range(p.shape[2]):
            grad_start[b, j] = grad_q[j]


# The rational function of Eigen's vectorised tanh, with a relative error below 4e-7 for any x: x P(x^2) / Q(x^2) for
# |x| <= LIMIT, and constant beyond. In float32, as a literal would make numba compute in float64.
LIMIT = torch.tensor(7.90531110763549805).numpy()[()]
P = tuple(
    torch.tensor(
        [
            4.89352455891786e-03,
            6.37261928875436e-04,
            1.48572235717979e-05,
            5.12229709037114e-08,
            -8.60467152213735e-11,
            2.00018790482477e-13,
            -2.76076847742355e-16,
        ]
    ).numpy()
)
Q = tuple(
    torch.tensor([4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06]).numpy()
)


@no_type_check
def rational_tanh(x):
    if x > LIMIT:
        x = LIMIT
    elif x < -LIMIT:
        x = -LIMIT
    y = x * x
    numerator = P[0] + y * (P[1] + y * (P[2] + y * (P[3] + y * (P[4] + y * (P[5] + y * P[6])))))
    return x * numerator / (Q[0] + y * (Q[1] + y * (Q[2] + y * Q[3])))


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
    """Adds to grad_direction [B, H], and to grad_queries [B, T, H] and grad_keys [B, S, H]. The latter two are yet to
    be multiplied by the direction [H]."""
    for b in range(queries.shape[0]):
        for i in range(queries.shape[1]):
            for j in range(keys.shape[1]):
                grad = grad_energy[b, i, j]
                for h in range(queries.shape[2]):
                    tanh = rational_tanh(queries[b, i, h] + keys[b, j, h])
                    slope = grad - grad * tanh * tanh
                    grad_direction[b, h] += grad * tanh
                    grad_queries[b, i, h] += slope
                    grad_keys[b, j, h] += slope
