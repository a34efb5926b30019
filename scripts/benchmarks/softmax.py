"""Softmax attention as fast as it gets, which `benchmark.py online` compares hard attention with.

That in plain PyTorch has nothing but its arithmetic: neither masks nor states. The compiled one is made of the same
loops as hard steps, and called likewise. (As a strategy of models it would be worth less than a tenth of a row of
`decode`.)
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, no_type_check

import numpy as np
import torch
from torch import Tensor

from mt.kernels.compiled import Loop, compiled
from mt.kernels.hard_step import ENERGY, MATRIX, attend, energy_of, energy_terms, matrix_terms, query_at, scale_of
from mt.kernels.numba_loops import ANY_ORDER, rational_tanh
from mt.models.attention.base import Memory

Softmax = Callable[[Tensor], tuple[Tensor, Tensor]]
"""From a query [1, Q] to a context [1, V] and weights [1, S]. From queries [1, T, Q] to [1, T, V] and [1, T, S]."""


class Bare(NamedTuple):
    """Softmax attention that is no model's, made of a `Scaled` energy and a memory."""

    step: Callable[[Any, Memory], Softmax]
    all_steps: Callable[[Any, Memory], Softmax]


def step_in_torch(energy: Any, memory: Memory) -> Softmax:
    """Returns the step in plain PyTorch. energy: of dot products or additive."""
    (keys,) = memory.keys
    values = memory.values[0]
    gain = energy.gain
    if energy.energy.is_dot_product:
        # In the order in which the vector products of BLAS read them fastest.
        rows = keys[0]
        return lambda query: softmax((rows @ query[0]) * gain, values)
    direction = _direction(energy)
    return lambda query: softmax(torch.tanh(keys[0] + energy.energy.project_query(query)) @ direction, values)


def all_steps_in_torch(energy: Any, memory: Memory) -> Softmax:
    """Returns all steps in plain PyTorch. Dot products are two products of matrices.

    Of additive energies the hidden units of one query at a time are computed, which stay in the processor's cache."""
    (keys,) = memory.keys
    if energy.energy.is_dot_product:
        return lambda queries: softmax((queries @ keys.transpose(1, 2)) * energy.gain, memory.values)
    direction = _direction(energy)

    def attend(queries: Tensor) -> tuple[Tensor, Tensor]:
        projected = energy.energy.project_query(queries)[0]
        energies = torch.stack([torch.tanh(keys[0] + query) @ direction for query in projected])
        return softmax(energies[None], memory.values)

    return attend


def _direction(energy: Any) -> Tensor:
    """Returns the direction of an additive energy, scaled."""
    additive = energy.energy
    return energy.gain * additive.direction / (additive.direction.norm() if additive.normalized else 1)


def softmax(energies: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    weights = torch.softmax(energies, -1)
    return weights @ values, weights


def compiled_step(energy: Any, memory: Memory) -> Softmax:
    """Returns the step, compiled."""
    loop, _ = soft_loops()
    (keys,) = memory.keys

    def step(query: Tensor) -> tuple[Tensor, Tensor]:
        plain = energy.as_plain(query, keys)
        context, weights = loop(matrix_terms(memory.values), energy_terms(plain))
        return torch.from_numpy(context), torch.from_numpy(weights)

    return step


def compiled_steps(energy: Any, memory: Memory) -> Softmax:
    """Returns all steps, compiled."""
    _, loop = soft_loops()
    (keys,) = memory.keys

    def steps(queries: Tensor) -> tuple[Tensor, Tensor]:
        plain = energy.as_plain(queries, keys)
        terms = energy_terms(plain)
        contexts, weights = loop(matrix_terms(memory.values), terms, plain.query.shape[1], plain.query.stride(1))
        return torch.from_numpy(contexts), torch.from_numpy(weights)

    return steps


@cache
def soft_loops() -> tuple[Loop, ...]:
    step = f"UniTuple(float32[:, ::1], 2)({MATRIX}, {ENERGY})"
    steps = f"UniTuple(float32[:, :, ::1], 2)({MATRIX}, {ENERGY}, int64, int64)"
    helpers = [rational_tanh, energy_of, scale_of, attend, query_at]
    loops = compiled([(step, _soft_step), (steps, _soft_steps)], helpers=helpers, fastmath=ANY_ORDER)
    assert loops is not None, "numba cannot compile here"
    return loops


@no_type_check
def _soft_step(values, terms):
    context = np.zeros((values[0], values[2]), np.float32)
    weights = np.zeros(values[:2], np.float32)
    for row in range(values[0]):
        attend(row, 0, values[1], values, terms, weights[row], context[row])
    return context, weights


@no_type_check
def _soft_steps(values, terms, count, stride):
    rows, columns, size = values[:3]
    context = np.zeros((rows, count, size), np.float32)
    weights = np.zeros((rows, count, columns), np.float32)
    for row in range(rows):
        for step in range(count):
            query = query_at(terms, step * stride)
            attend(row, 0, columns, values, query, weights[row, step], context[row, step])
    return context, weights


BARE = {"torch": Bare(step_in_torch, all_steps_in_torch), "compiled": Bare(compiled_step, compiled_steps)}
"""Softmax attention that is no model's."""
