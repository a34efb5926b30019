"""Hard steps of monotonic attentions on a CPU, in one compiled loop: for each row of a batch its energies from where
it is to where it stops, a softmax over the window that ends there, and the context. One step, or all where their
queries are known.

A step of one row looks at a position or two, which takes less time than any call of PyTorch. So the loop is given
addresses, sizes and strides, checks them, and fills everything that a step returns. The same in PyTorch, block by
block, is `mt.models.attention.hard_steps`.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.kernels.compiled import Array
from mt.kernels.hard_step_loop import step_loop, steps_loop

WINDOW = 64
"""Positions of a window that there is room for at first: where it is wider, a step is taken once more."""


class PlainEnergy(NamedTuple):
    """The energies of queries: gain * (query . key) + bias, or, where there is a direction v, gain * v . tanh(query +
    key) + bias."""

    query: Float[Tensor, "B *steps K"]
    """One of each row, or one of each of its steps."""
    direction: Float[Tensor, " K"] | None = None
    normalized: bool = False
    """Whether the direction is divided by its length."""
    gain: Float[Tensor, ""] | None = None
    bias: Float[Tensor, ""] | None = None


@runtime_checkable
class Source(Protocol):
    """What a step looks at and attends to: a memory of an attention, which is a named tuple."""

    @property
    def keys(self) -> tuple[Tensor, ...]:
        """Each [B, S, K]; those of the first energy come first, those of the other last."""

    @property
    def values(self) -> Tensor:
        """[B, S, V]"""

    @property
    def mask(self) -> Tensor:
        """[B, S] bool: true on real positions; padding is on the right."""

    @property
    def complete(self) -> Tensor | None:
        """[B] bool: false where the source goes on; None: nowhere."""

    @property
    def first(self) -> Tensor | None:
        """[B] int64: the source position of column 0; None: 0."""

    def _replace(self, *, keys: tuple[Tensor, ...] = ..., values: Tensor = ..., mask: Tensor = ...) -> "Source": ...


class Outcome(NamedTuple):
    """A step of each row. Positions count from the beginning of the source."""

    context: Float[Tensor, "B V"]
    weights: Float[Tensor, "B W"]
    """The weights of W positions from `first` on: as many as the widest window has, one at least."""
    stops: Int[Tensor, " B"]
    """A position, SELECTED_NONE or NEEDS_MORE_SOURCE."""
    last_stops: Int[Tensor, " B"]
    positions: Int[Tensor, " B"]
    """What the next step looks at first."""
    first: Int[Tensor, " B"]
    energies: Int[Tensor, " B"]
    """How many positions were looked at."""


def is_compiled(query: Tensor, values: Tensor) -> bool:
    """Returns whether the loops are there for these: in float32 on a CPU, without gradient or autocast."""
    return (
        query.is_cpu
        and query.dtype == values.dtype == torch.float32
        and not (torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"))
        and step_loop() is not None
    )


def hard_step(
    energies: tuple[PlainEnergy, PlainEnergy],
    source: Source,
    state: tuple[Tensor, ...],
    lookback: int | None,
    mass_preservation: bool,
) -> Outcome:
    """Takes one step of each row, where `is_compiled`.

    energies: those by which a row stops, at the first that is not negative, and those of the softmax. state: the last
    stop, and the position that is looked at first, both [B] int64. lookback: positions before its stop that a row
    attends to; None: those from the last stop on. mass_preservation: whether a row that passes a whole source stops at
    its last position. Raises ValueError where shapes do not fit.
    """
    rule = _rule(lookback, mass_preservation)
    try:
        context, weights, numbers = _step(energies, source, state, rule)
    except ValueError:
        context, weights, numbers = _step(*_beside(energies, source), state, rule)
    return Outcome(context, weights, *numbers.unbind())


def hard_steps(
    energies: tuple[PlainEnergy, PlainEnergy], source: Source, lookback: int | None, mass_preservation: bool
) -> tuple[Tensor, ...]:
    """Takes all steps of each row from the first column of the source on, where `is_compiled`. energies: of queries
    [B, T, K]; the rest as of `hard_step`.

    Returns contexts [B, T, V], and over the whole source, [B, T, S], the weights, and 1 where a step stops.
    """
    rule = _rule(lookback, mass_preservation)
    try:
        outcome = _steps(energies, source, rule)
    except ValueError:
        outcome = _steps(*_beside(energies, source), rule)
    return tuple(map(torch.from_numpy, outcome))


def _rule(lookback: int | None, mass_preservation: bool) -> tuple[int, int]:
    return -1 if lookback is None else lookback, int(mass_preservation)


def _beside(
    energies: tuple[PlainEnergy, PlainEnergy], source: Source
) -> tuple[tuple[PlainEnergy, PlainEnergy], Source]:
    """Copies what a loop has refused, perhaps as the numbers of a position do not lie side by side."""
    stop, chunk = (energy._replace(query=energy.query.contiguous()) for energy in energies)
    keys = tuple(part.contiguous() for part in source.keys)
    copied = source._replace(keys=keys, values=source.values.contiguous(), mask=source.mask.contiguous())
    return (stop, chunk), copied


def _step(
    energies: tuple[PlainEnergy, PlainEnergy], source: Source, state: tuple[Tensor, ...], rule: tuple[int, int]
) -> tuple[Tensor, Tensor, Tensor]:
    """Calls the loop of a step, while the tensors stay where they are; once more where a window has no room."""
    loop = step_loop()
    assert loop is not None
    last_stops, positions = state
    first = source.first
    rows, _, size = source.values.shape
    context = source.values.new_empty(rows, size)
    numbers = last_stops.new_empty(5, rows)
    terms = (
        value_terms(source.values),
        _mask_terms(source),
        (
            *last_stops.shape,
            *last_stops.stride(),
            last_stops.data_ptr(),
            *positions.shape,
            *positions.stride(),
            positions.data_ptr(),
            0 if first is None else first.data_ptr(),
        ),
        rule,
        *_both_terms(energies, source),
    )
    widest = WINDOW if rule[0] < 0 else min(WINDOW, rule[0] + 1)
    room = 0
    while room < widest:
        room = widest
        weights = source.values.new_empty(rows, room)
        widest = loop(*terms, (room, context.data_ptr(), weights.data_ptr(), numbers.data_ptr()))
    return context, weights if widest == room else weights[:, :widest], numbers


def _steps(energies: tuple[PlainEnergy, PlainEnergy], source: Source, rule: tuple[int, int]) -> Sequence[Array]:
    """Calls the loop of all steps, while the tensors stay where they are."""
    loop = steps_loop()
    assert loop is not None
    queries, of_chunk = (energy.query for energy in energies)
    count = queries.shape[1]
    steps = count, queries.stride(1), of_chunk.shape[1], of_chunk.stride(1)
    rows, columns, size = source.values.shape
    # numpy has large arrays in large pages: a sixth of the time that numba's or torch's zeros take.
    contexts = np.zeros((rows, count, size), np.float32)
    weights = np.zeros((rows, count, columns), np.float32)
    # Of a window of one the weight is 1.
    alpha = weights if rule[0] == 0 else np.zeros(weights.shape, np.float32)
    terms = value_terms(source.values), _mask_terms(source), rule, *_both_terms(energies, source), steps
    loop(*terms, contexts, weights, alpha)
    return contexts, weights, alpha


def _mask_terms(source: Source) -> tuple[int, ...]:
    mask = source.mask
    complete = source.complete
    return (*mask.shape, *mask.stride(), mask.data_ptr(), 0 if complete is None else complete.data_ptr())


def _both_terms(energies: tuple[PlainEnergy, PlainEnergy], source: Source) -> tuple[tuple[int, ...], tuple[int, ...]]:
    keys = source.keys
    terms = energy_terms(energies[0], keys[0])
    return terms, terms if energies[1] is energies[0] else energy_terms(energies[1], keys[-1])


def value_terms(values: Float[Tensor, "B S V"]) -> tuple[int, ...]:
    """Returns what a loop knows of values."""
    return (*values.shape, *values.stride(), values.data_ptr())


def energy_terms(energy: PlainEnergy, keys: Float[Tensor, "B S K"]) -> tuple[int, ...]:
    """Returns what a loop knows of energies: of each row, of its first query."""
    query, direction, normalized, gain, bias = energy
    shape = query.shape
    stride = query.stride()
    return (
        shape[0],
        shape[-1],
        stride[0],
        stride[-1],
        query.data_ptr(),
        *keys.shape,
        *keys.stride(),
        keys.data_ptr(),
        0 if direction is None else direction.data_ptr(),
        int(normalized),
        0 if gain is None else gain.data_ptr(),
        0 if bias is None else bias.data_ptr(),
    )
