"""Hard steps of monotonic attentions on a CPU, in one compiled loop.

The loop computes the energies of each row up to its stop, a softmax over the chunk that ends there, and the context. It
takes one step, or all steps where their queries are known.

A step of one row looks at a position or two, which takes less time than any call of PyTorch. So the loop takes whole
numbers, checks them, and fills all results of a step. First stand the calls, then the loops for one step and for all,
then their helpers. The same in PyTorch is the hard form of `mt.models.attention.monotonic`.

All tensors are contiguous. Of each, a loop is given sizes and address; 0 is the address of a tensor that is not there:

    values     sizes and address of [B, S, V]
    source     sizes and address of the mask [B, S], and the addresses of `complete` and `first`
    energy     how many numbers all queries [B, K] or [B, T, K] have, the sizes of the keys [B, S, K], the addresses of
               queries, keys, direction, gain and bias, and whether the direction is divided by its length
    rule       see `Rule`
    state      sizes and addresses of last stops [B] and positions [B]
    outputs    W, and the addresses of contexts [B, V], weights [B, W] and numbers [5, B]: stops, last stops, positions,
               first and looked_at (see `mt.step.Attended`)

Within the loops positions are columns of the source.
"""

from functools import cache
from math import exp, sqrt
from typing import NamedTuple, cast, no_type_check

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mt.kernels.compiled import ANY_ORDER, Loop, compiled, float32_at, int64_at, rational_tanh, uint8_at
from mt.step import NEEDS_MORE_SOURCE, SELECTED_NONE, Attended

WINDOW = 64
"""The initial room for a window, in positions; a step with a wider one is taken once more."""
ZERO = np.float32(0)
ONE = np.float32(1)
FLOAT = 4  # bytes


class PlainEnergy(NamedTuple):
    """The energies of queries and keys: gain * (query . key) + bias, or gain * direction . tanh(query + key) + bias."""

    query: Float[Tensor, "B *steps K"]
    """One for each row, or one for each of its steps."""
    keys: Float[Tensor, "B S K"]
    direction: Float[Tensor, " K"] | None = None
    normalized: bool = False
    """Whether the direction is divided by its length."""
    gain: Float[Tensor, ""] | None = None
    bias: Float[Tensor, ""] | None = None


Energies = tuple[PlainEnergy, PlainEnergy]
"""The energies of stopping, at the first of which that is not negative a row stops, and those of the softmax."""
# Plain tuples: making a named one would add a tenth to a step of one row.
Source = tuple[Tensor, Tensor, Tensor | None, Tensor | None]
"""values: [B, S, V]. mask: [B, S], true on real positions, with padding on the right. complete: [B] bool, false where
the source goes on; None: true. first: [B] int64, the source position of column 0; None: 0."""
Rule = tuple[int, int, int]
"""lookback: the most positions before its stop that a row attends to. since_last_stop: 1 if none of them lies before
the last stop. mass_preservation: 1 if a row that passes a whole source stops at its last position."""


def is_compiled(query: Tensor, values: Tensor) -> bool:
    """Returns whether the loops are there for these: in float32 on a CPU, without gradient or autocast."""
    return (
        query.is_cpu
        and query.dtype == values.dtype == torch.float32
        and not (torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"))
        and hard_loops() is not None
    )


def hard_step(
    energies: Energies, source: Source, state: tuple[Tensor, ...], rule: Rule
) -> tuple[Float[Tensor, "B V"], Attended, tuple[Tensor, Tensor]]:
    """Takes one step of each row, where `is_compiled`.

    state: the last stop, and the position that is looked at first, both [B] int64. Returns the context, the attention
    over the width of the widest window, at least one, and the state after the step. Raises ValueError where shapes do
    not fit.
    """
    loop, _ = cast(tuple[Loop, ...], hard_loops())
    # The room for the results, and the addresses that the loop takes.
    last_stops, positions = (part.contiguous() for part in state)
    values = source[0]
    rows, _, size = values.shape
    context = values.new_empty(rows, size)
    numbers = last_stops.new_empty(5, rows)
    state_terms = (*last_stops.shape, *positions.shape, last_stops.data_ptr(), positions.data_ptr())
    terms = *_terms(energies, source, rule), state_terms
    # The loop returns the width that the weights need, and is called again where they had less room.
    widest = min(WINDOW, rule[0] + 1)
    room = 0
    while room < widest:
        room = widest
        weights = values.new_empty(rows, room)
        widest = loop(*terms, (room, context.data_ptr(), weights.data_ptr(), numbers.data_ptr()))
    # Room that no window of this batch needed is cut off.
    stops, last_stops, positions, first, looked_at = numbers.unbind()
    attended = Attended(weights if widest == room else weights[:, :widest], stops, first, looked_at)
    return context, attended, (last_stops, positions)


def hard_steps(energies: Energies, source: Source, rule: Rule) -> tuple[Tensor, ...]:
    """Takes all steps of each row from the first column of the source on, where `is_compiled`.

    energies: of queries [B, T, K]. source, rule: see `hard_step`. Returns contexts [B, T, V], and over the whole source
    the weights and alpha, 1 where a step stops, both [B, T, S].
    """
    _, loop = cast(tuple[Loop, ...], hard_loops())
    values = source[0]
    rows, columns, size = values.shape
    steps = energies[0].query.shape[1]
    # numpy has large arrays in large pages: a sixth of the time that numba's or torch's zeros take.
    contexts = np.zeros((rows, steps, size), np.float32)
    weights = np.zeros((rows, steps, columns), np.float32)
    # In a window of one the weight is 1.
    alpha = weights if rule[0] == 0 else np.zeros(weights.shape, np.float32)
    loop(*_terms(energies, source, rule), steps, contexts, weights, alpha)
    return tuple(map(torch.from_numpy, (contexts, weights, alpha)))


Terms = tuple[int, ...]


def _terms(energies: Energies, source: Source, rule: Rule) -> tuple[Terms, ...]:
    """Returns the arguments of both loops."""
    stop, chunk = energies
    values, mask, complete, first = source
    source_terms = (*mask.shape, mask.data_ptr(), _address(complete), _address(first))
    stop_terms = energy_terms(stop)
    chunk_terms = stop_terms if chunk is stop else energy_terms(chunk)
    return matrix_terms(values), source_terms, stop_terms, chunk_terms, rule


def matrix_terms(values: Float[Tensor, "B S V"]) -> Terms:
    return (*values.shape, values.data_ptr())


def energy_terms(energy: PlainEnergy) -> Terms:
    query, keys, direction, normalized, gain, bias = energy
    addresses = _address(direction), _address(gain), _address(bias)
    return (query.numel(), *keys.shape, query.data_ptr(), keys.data_ptr(), *addresses, int(normalized))


def _address(tensor: Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()


_numbers = "UniTuple(int64, {})".format
MATRIX = _numbers(4)  # the type of `matrix_terms`, in numba's words
ENERGY = _numbers(10)
_TERMS = f"{MATRIX}, {_numbers(5)}, {ENERGY}, {ENERGY}, {_numbers(3)}"


@cache
def hard_loops() -> tuple[Loop, ...] | None:
    """Returns the loop of a step and that of all steps; None where numba cannot."""
    # No loop returns an array: numba would call Python, where a signal's exception would become a SystemError.
    step = f"int64({_TERMS}, {_numbers(4)}, {_numbers(4)})"
    steps = f"void({_TERMS}, int64{3 * ', float32[:, :, ::1]'})"
    helpers = [rational_tanh, energy_of, scale_of, attend, _check, _look_right]
    return compiled([(step, _step), (steps, _steps)], helpers=helpers, fastmath=ANY_ORDER)


@no_type_check
def _step(values, source, energy, chunk_energy, rule, state, outputs):
    """Returns the width of the widest window, at least 1, and fills the outputs; where it is above W, the numbers
    alone."""
    _check(values, source, energy, chunk_energy, 1)
    rows, _, size, _ = values
    first_address = source[4]
    last_stop_count, position_count, last_stops, positions = state
    if last_stop_count != rows or position_count != rows:
        raise ValueError("the state has another number of rows than the source")
    room, contexts, weights, number_address = outputs
    numbers = int64_at(number_address)
    # The stop of each row, and with it the width of its window.
    widest = 1
    for row in range(rows):
        # In here columns of the memory are counted, outside positions of the source: a stream drops some.
        offset = int64_at(first_address)[row] if first_address else 0
        last_stop = int64_at(last_stops)[row] - offset
        position = int64_at(positions)[row] - offset
        stop, last_stop, position, first, looked_at = _look_right(row, row, last_stop, position, source, rule, energy)
        numbers[row] = stop + offset if stop >= 0 else stop
        numbers[rows + row] = last_stop + offset
        numbers[2 * rows + row] = position + offset
        numbers[3 * rows + row] = first + offset
        numbers[4 * rows + row] = looked_at
        if stop >= 0:
            widest = max(widest, stop - first + 1)
    if widest > room:
        return widest
    # The weights and the context of each row.
    for row in range(rows):
        context = float32_at(contexts + FLOAT * row * size)
        for number in range(size):
            context[number] = ZERO
        weight = float32_at(weights + FLOAT * row * room)
        for column in range(room):
            weight[column] = ZERO
        stop = numbers[row]
        begin = numbers[3 * rows + row]
        if stop >= 0:
            first = begin - (int64_at(first_address)[row] if first_address else 0)
            attend(row, row, first, stop - begin + 1, values, chunk_energy, weight, context)
    return widest


@no_type_check
def _steps(values, source, energy, chunk_energy, rule, steps, context, weights, alpha) -> None:
    """Takes all steps of all rows from the first column on. Fills contexts [B, T, V] and weights and alpha [B, T, S],
    which are all zeros before."""
    _check(values, source, energy, chunk_energy, steps)
    for row in range(values[0]):
        last_stop = 0
        position = 0
        for step in range(steps):
            query = row * steps + step
            # Each step goes on from where the step before left the pointer.
            stop, last_stop, position, first, _ = _look_right(row, query, last_stop, position, source, rule, energy)
            if stop >= 0:
                width = stop - first + 1
                attend(row, query, first, width, values, chunk_energy, weights[row, step, first:], context[row, step])
                alpha[row, step, stop] = ONE


@no_type_check
def _check(values, source, energy, chunk_energy, steps) -> None:
    """Refuses tensors beyond whose end the loops would read."""
    fit = source[:2] == values[:2]
    for numbers, rows, columns, size, _, _, _, _, _, _ in (energy, chunk_energy):
        fit = fit and (rows, columns) == values[:2] and numbers == rows * steps * size
    if not fit:
        raise ValueError("queries, keys, values and mask do not fit")


@no_type_check
def _look_right(row, query, last_stop, begin, source, rule, energy):
    """Looks at one position after another from `begin` on. Returns the stop of a row, its last stop and position after
    the step, the first attended position, and the number of positions looked at. query: the number of its query."""
    lookback, since_last_stop, mass_preservation = rule
    _, columns, mask, complete, _ = source
    bias = energy[8]
    # The pointer moves until an energy is not negative, or the real positions end.
    real = uint8_at(mask + row * columns)
    scale = scale_of(energy)
    # An energy, rounded, is negative where its exact sum is: so nothing is added, and nothing rounded twice.
    least = -float32_at(bias)[0] if bias else ZERO
    position = begin
    # `not >=` rather than `<`: an energy of NaN stops nowhere, as in PyTorch's form.
    while position < columns and real[position] and not scale * energy_of(row, query, position, energy) >= least:
        position += 1
    stop = position if position < columns and real[position] else SELECTED_NONE
    looked_at = position - begin + (stop >= 0)
    # A row without a stop waits for more of its source, stops at the last position, or selects nothing.
    if stop < 0 and complete and not uint8_at(complete)[row]:
        return NEEDS_MORE_SOURCE, last_stop, position, 0, looked_at
    if stop < 0 and mass_preservation:
        # Of a source without any position this is -1, and nothing is selected.
        stop = position - 1
    if stop < 0:
        return SELECTED_NONE, last_stop, position, 0, looked_at
    first = max(last_stop if since_last_stop else 0, stop - lookback)
    return stop, stop, stop, first, looked_at


@no_type_check
def attend(row, query, first, width, values, energy, weights, context) -> None:
    """Fills the weights of a window of a row, which begins at `first`, and adds its values to the context."""
    # A softmax over the window, relative to its largest energy.
    weights[0] = ONE
    if width > 1:
        scale = scale_of(energy)
        largest = scale * energy_of(row, query, first, energy)
        weights[0] = largest
        for column in range(1, width):
            weights[column] = scale * energy_of(row, query, first + column, energy)
            largest = max(largest, weights[column])
        total = ZERO
        for column in range(width):
            weights[column] = exp(weights[column] - largest)
            total += weights[column]
        for column in range(width):
            weights[column] /= total
    # The sum of the values, each times its weight.
    _, columns, size, address = values
    for column in range(width):
        value = float32_at(address + FLOAT * size * (row * columns + first + column))
        weight = weights[column]
        for number in range(size):
            context[number] += weight * value[number]


@no_type_check
def energy_of(row, query, column, energy):
    """Returns the energy of a query and a key, not yet scaled. query: its number."""
    _, _, columns, size, queries, keys, direction_address, _, _, _ = energy
    asking = float32_at(queries + FLOAT * size * query)
    key = float32_at(keys + FLOAT * size * (row * columns + column))
    total = ZERO
    # Without a direction a dot product, else v . tanh(q + k); the caller has made q and k, and divides by |v|.
    if direction_address == 0:
        for number in range(size):
            total += asking[number] * key[number]
    else:
        direction = float32_at(direction_address)
        for number in range(size):
            total += direction[number] * rational_tanh(asking[number] + key[number])
    return total


@no_type_check
def scale_of(energy):
    """Returns the factor of the energies."""
    _, _, _, size, _, _, direction_address, gain, _, normalized = energy
    scale = float32_at(gain)[0] if gain else ONE
    if normalized:
        direction = float32_at(direction_address)
        length = ZERO
        for number in range(size):
            length += direction[number] * direction[number]
        scale /= sqrt(length)
    return scale
