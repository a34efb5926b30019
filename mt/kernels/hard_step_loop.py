"""The loops of `hard_step` and `hard_steps`, and what they call. They are given whole numbers in groups, of each tensor
its sizes, its strides and its address; an address of 0 stands for a tensor that is not there.

    values       [B, S, V]
    mask         [B, S], and the address of `complete`
    state        last stops [B], positions [B], and the address of `first`
    rule         lookback, -1 for that as far as the last stop; mass preservation
    terms        of an energy: query [B, K], keys [B, S, K], the addresses of direction, gain and bias, and, after the
                 first of these, whether the direction is divided by its length
    steps        how many queries a row has, and how far apart they are, of either energy
    outputs      W, and the addresses of contexts [B, V], weights [B, W] and the numbers of an `Outcome` [5, B]

Within the loops positions are columns of the source.
"""

from functools import cache
from math import exp, sqrt
from typing import no_type_check

import numpy as np

from mt.kernels.compiled import Loop, compiled_loop, float32_at, int64_at, uint8_at
from mt.kernels.numba_loops import ANY_ORDER, rational_tanh

SELECTED_NONE = -1
"""A stop of a hard attention that selected no position of a complete source."""
NEEDS_MORE_SOURCE = -2
"""A stop of a hard attention that selected no position of the source so far, which goes on: the step is to be taken
again, and continues from where it has come to."""
ZERO = np.float32(0)
ONE = np.float32(1)
FLOAT = 4
"""Bytes of a number."""


@cache
def step_loop() -> Loop | None:
    """Returns the loop of a step; None where numba cannot."""
    # To return an array, numba calls Python, where a signal may raise what would leave the loop as a SystemError.
    signature = f"int64({_groups(7, 6, 7, 2, 16, 16, 4)})"
    return _compiled(signature, _step)


@cache
def steps_loop() -> Loop | None:
    """Returns the loop of all steps; None where numba cannot."""
    signature = f"void({_groups(7, 6, 2, 16, 16, 4)}{3 * ', float32[:, :, ::1]'})"
    return _compiled(signature, _steps)


def _groups(*counts: int) -> str:
    """Returns the types of groups of so many whole numbers."""
    return ", ".join(f"UniTuple(int64, {count})" for count in counts)


def _compiled(signature: str, loop: Loop) -> Loop | None:
    helpers = [rational_tanh, fits, energy_of, scale_of, attend, query_at, _check, _look_right]
    return compiled_loop(signature, loop, helpers=helpers, fastmath=ANY_ORDER)


@no_type_check
def _step(values, mask, state, rule, terms, window_terms, outputs):
    """Returns how many positions the widest window has, one at least, and fills the outputs; where it has more than W,
    the numbers alone."""
    _check(values, mask, terms, window_terms)
    rows = values[0]
    if state[0] != rows or state[3] != rows:
        raise ValueError("the state has another number of rows than the source")
    room, contexts, weights, address = outputs
    numbers = int64_at(address)
    widest = 1
    for row in range(rows):
        offset = int64_at(state[6])[row] if state[6] else 0
        last_stop = int64_at(state[2])[row * state[1]] - offset
        position = int64_at(state[5])[row * state[4]] - offset
        stop, last_stop, position, first, looked_at = _look_right(row, last_stop, position, mask, rule, terms)
        numbers[row] = stop + offset if stop >= 0 else stop
        numbers[rows + row] = last_stop + offset
        numbers[2 * rows + row] = position + offset
        numbers[3 * rows + row] = first + offset
        numbers[4 * rows + row] = looked_at
        if stop >= 0:
            widest = max(widest, stop - first + 1)
    if widest > room:
        return widest
    for row in range(rows):
        context = float32_at(contexts + FLOAT * row * values[2])
        for number in range(values[2]):
            context[number] = ZERO
        weight = float32_at(weights + FLOAT * row * room)
        for column in range(room):
            weight[column] = ZERO
        stop = numbers[row]
        begin = numbers[3 * rows + row]
        if stop >= 0:
            first = begin - (int64_at(state[6])[row] if state[6] else 0)
            attend(row, first, stop - begin + 1, values, window_terms, weight, context)
    return widest


@no_type_check
def _steps(values, mask, rule, terms, window_terms, steps, context, weights, alpha) -> None:
    """Fills contexts [B, T, V], weights and, with 1 where a step stops, alpha, both [B, T, S], which are all zeros, for
    all steps of all rows from the first column on."""
    _check(values, mask, terms, window_terms)
    count, stride, window_count, window_stride = steps
    if count != window_count:
        raise ValueError("the energies have different numbers of queries")
    for row in range(values[0]):
        last_stop = 0
        position = 0
        for step in range(count):
            query = query_at(terms, step * stride)
            stop, last_stop, position, first, _ = _look_right(row, last_stop, position, mask, rule, query)
            if stop >= 0:
                query = query_at(window_terms, step * window_stride)
                attend(row, first, stop - first + 1, values, query, weights[row, step, first:], context[row, step])
                alpha[row, step, stop] = ONE


@no_type_check
def _check(values, mask, terms, window_terms) -> None:
    """Refuses tensors of which the loops would read what is not theirs."""
    beside = (values[5] == 1 or values[2] == 1) and (mask[3] == 1 or mask[1] == 1)
    if not (beside and mask[:2] == values[:2] and fits(values, terms) and fits(values, window_terms)):
        raise ValueError("queries, keys, values and mask do not fit, or their numbers do not lie side by side")


@no_type_check
def fits(values, terms):
    """Returns whether queries and keys fit values, and their numbers lie side by side."""
    queries, size, _, query_step, _, keys, columns, keys_size, _, _, keys_step = terms[:11]
    same = queries == keys == values[0] and columns == values[1] and keys_size == size
    return same and (size == 1 or query_step == keys_step == 1)


@no_type_check
def query_at(terms, distance):
    """Returns the terms of the query that lies `distance` numbers further on."""
    return (*terms[:4], terms[4] + FLOAT * distance, *terms[5:])


@no_type_check
def _look_right(row, last_stop, begin, mask, rule, terms):
    """Returns where a row stops, its last stop and its position after the step, the first position that is attended to,
    and how many were looked at, from the position `begin` on."""
    lookback, mass_preservation = rule
    real = uint8_at(mask[4] + row * mask[2])
    scale = scale_of(terms)
    # An energy, rounded, is negative where its exact sum is: so nothing is added, and nothing rounded twice.
    least = -float32_at(terms[15])[0] if terms[15] else ZERO
    position = begin
    while position < mask[1] and real[position] and not scale * energy_of(row, position, terms) >= least:
        position += 1
    stop = position if position < mask[1] and real[position] else SELECTED_NONE
    looked_at = position - begin + (stop >= 0)
    if stop < 0 and mask[5] and not uint8_at(mask[5])[row]:
        return NEEDS_MORE_SOURCE, last_stop, position, 0, looked_at
    if stop < 0 and mass_preservation:
        stop = position - 1
    if stop < 0:
        return SELECTED_NONE, last_stop, position, 0, looked_at
    first = last_stop if lookback < 0 else max(0, stop - lookback)
    return stop, stop, stop, first, looked_at


@no_type_check
def attend(row, first, width, values, terms, weights, context) -> None:
    """Fills the weights of a row's columns from `first` on, the first of which is for that, and adds to a context."""
    weights[0] = ONE
    if width > 1:
        scale = scale_of(terms)
        largest = scale * energy_of(row, first, terms)
        weights[0] = largest
        for column in range(1, width):
            weights[column] = scale * energy_of(row, first + column, terms)
            largest = max(largest, weights[column])
        total = ZERO
        for column in range(width):
            weights[column] = exp(weights[column] - largest)
            total += weights[column]
        for column in range(width):
            weights[column] /= total
    _, _, size, row_step, column_step, _, address = values
    for column in range(width):
        value = float32_at(address + FLOAT * (row * row_step + (first + column) * column_step))
        weight = weights[column]
        for number in range(size):
            context[number] += weight * value[number]


@no_type_check
def energy_of(row, column, terms):
    """Returns what a query and a key have in common, not yet scaled."""
    _, size, query_step, _, query_address, _, _, _, row_step, column_step, _, address, direction_address = terms[:13]
    query = float32_at(query_address + FLOAT * row * query_step)
    key = float32_at(address + FLOAT * (row * row_step + column * column_step))
    total = ZERO
    if direction_address == 0:
        for number in range(size):
            total += query[number] * key[number]
    else:
        direction = float32_at(direction_address)
        for number in range(size):
            total += direction[number] * rational_tanh(query[number] + key[number])
    return total


@no_type_check
def scale_of(terms):
    """Returns what energies are multiplied by."""
    size = terms[1]
    direction_address, normalized, gain = terms[12:15]
    scale = float32_at(gain)[0] if gain else ONE
    if normalized:
        direction = float32_at(direction_address)
        length = ZERO
        for number in range(size):
            length += direction[number] * direction[number]
        scale /= sqrt(length)
    return scale
