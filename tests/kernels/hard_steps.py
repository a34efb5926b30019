"""Hard steps for the tests of the compiled ones: the process, one position after another, in float64."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mt.kernels import hard_step as kernel
from mt.kernels.hard_step import PlainEnergy
from mt.step import NEEDS_MORE_SOURCE, SELECTED_NONE, Attended

SIZE = 19
"""Of queries, keys and values: no multiple of what a processor adds up at once."""


class Source(NamedTuple):
    """As `mt.kernels.hard_step.Source`."""

    values: Tensor
    mask: Tensor
    complete: Tensor | None = None
    first: Tensor | None = None


class Rule(NamedTuple):
    """As `mt.kernels.hard_step.Rule`."""

    lookback: int
    since_last_stop: int
    mass_preservation: int


def hard_step(energies: Any, source: Source, state: Any, rule: Rule) -> tuple[Tensor, Attended, tuple[Tensor, Tensor]]:
    return kernel.hard_step(energies, tuple(source), state, tuple(rule))


def hard_steps(energies: Any, source: Source, rule: Rule) -> tuple[Tensor, ...]:
    return kernel.hard_steps(energies, tuple(source), tuple(rule))


class Case(NamedTuple):
    energies: tuple[PlainEnergy, PlainEnergy]
    source: Source
    state: tuple[Tensor, Tensor]
    rule: Rule

    def step(self) -> tuple[Tensor, Attended, tuple[Tensor, Tensor]]:
        return hard_step(*self)


def rule(lookback: int | None, mass_preservation: bool) -> Rule:
    """lookback: None for as far as the last stop."""
    return Rule(10**9 if lookback is None else lookback, lookback is None, mass_preservation)


def case(seed: int, rows: int, columns: int, lookback: int | None, *, additive: bool = False) -> Case:
    """Rows of any length, none included, some of which go on, some of which begin later, from any position on. Numbers
    are whole, so that dot products are exact and often 0."""
    draw = torch.Generator().manual_seed(seed)

    def whole(*shape: int) -> Tensor:
        return torch.randint(-2, 3, shape, generator=draw).float()

    def energy(bias: float | None) -> PlainEnergy:
        gain = torch.tensor(0.25)
        offset = None if bias is None else torch.tensor(bias)
        keys = whole(rows, columns, SIZE)
        if not additive:
            return PlainEnergy(whole(rows, SIZE), keys, gain=gain, bias=offset)
        query, direction = (torch.randn(*shape, SIZE, generator=draw) for shape in ((rows,), ()))
        return PlainEnergy(query, keys, direction, True, gain, offset)

    energies = energy(-0.25 * (seed % 2)), energy(None)
    lengths = torch.randint(0, columns + 1, (rows,), generator=draw)
    first = torch.randint(0, 9, (rows,), generator=draw)
    last_stops = torch.minimum(torch.randint(0, columns, (rows,), generator=draw) // 2, (lengths - 1).clamp(min=0))
    positions = torch.minimum(last_stops + torch.randint(0, 2, (rows,), generator=draw), lengths)
    source = Source(
        torch.randn(rows, columns, SIZE, generator=draw),
        torch.arange(columns) < lengths[:, None],
        None if seed % 3 == 0 else torch.randint(0, 2, (rows,), generator=draw).bool(),
        None if seed % 4 == 0 else first,
    )
    if source.first is not None:
        last_stops = last_stops + first
        positions = positions + first
    return Case(energies, source, (last_stops, positions), rule(lookback, seed % 5 < 3))


def exact_energy(energy: PlainEnergy, row: int, column: int) -> float:
    query = energy.query[row].double().numpy()
    key = energy.keys[row, column].double().numpy()
    if energy.direction is None:
        terms = [a * b for a, b in zip(query, key, strict=True)]
    else:
        direction = energy.direction.double().numpy()
        length = math.sqrt(math.fsum(v * v for v in direction)) if energy.normalized else 1.0
        terms = [v * math.tanh(a + b) / length for v, a, b in zip(direction, query, key, strict=True)]
    gain = 1.0 if energy.gain is None else float(energy.gain)
    return gain * math.fsum(terms) + (0.0 if energy.bias is None else float(energy.bias))


class Expected(NamedTuple):
    """Of one row."""

    context: np.ndarray
    weights: list[float]
    numbers: list[int]
    """The stop, the state after the step, the first position that is attended to, and how many were looked at."""
    nearest: float
    """How far from 0 the energies were at least that are not 0."""


def expected(case: Case, row: int) -> Expected:
    """One row of a step: the position moves right until an energy is not negative."""
    source = case.source
    offset = 0 if source.first is None else int(source.first[row])
    last_stop, position = (int(part[row]) - offset for part in case.state)
    length = int(source.mask[row].sum())
    looked_at = 0
    nearest = 1.0
    stop = None
    while stop is None and position < length:
        energy = exact_energy(case.energies[0], row, position)
        nearest = min(nearest, abs(energy) or 1.0)
        looked_at += 1
        if energy >= 0:
            stop = position
        else:
            position += 1
    nothing = np.zeros(source.values.shape[2])
    if stop is None and source.complete is not None and not source.complete[row]:
        numbers = [NEEDS_MORE_SOURCE, last_stop + offset, position + offset, offset, looked_at]
        return Expected(nothing, [], numbers, nearest)
    if stop is None and case.rule.mass_preservation and position > 0:
        stop = position - 1
    if stop is None:
        numbers = [SELECTED_NONE, last_stop + offset, position + offset, offset, looked_at]
        return Expected(nothing, [], numbers, nearest)
    first = last_stop if case.rule.since_last_stop else max(0, stop - case.rule.lookback)
    window = range(first, stop + 1)
    softmax = [exact_energy(case.energies[1], row, column) for column in window]
    powers = [math.exp(energy - max(softmax)) for energy in softmax]
    weights = [power / math.fsum(powers) for power in powers]
    values = source.values[row].double().numpy()
    context = sum(weight * values[column] for weight, column in zip(weights, window, strict=True))
    return Expected(np.asarray(context), weights, [*[stop + offset] * 3, first + offset, looked_at], nearest)


def assert_right(case: Case) -> list[list[int]]:
    """Compares a step with what is expected of each row, and returns the numbers of the rows."""
    context, attended, state = case.step()
    rows = [expected(case, row) for row in range(len(case.source.values))]
    if case.energies[0].direction is not None:
        assert min(row.nearest for row in rows) > 1e-5, "these numbers are rounded to either sign: draw others"
    assert [
        list(numbers)
        for numbers in zip(*(part.tolist() for part in (attended.stops, *state, *attended[2:])), strict=True)
    ] == [row.numbers for row in rows]
    assert attended.weights.shape[1] == max(1, *(len(row.weights) for row in rows))
    for row, truth in enumerate(rows):
        weights = [*truth.weights, *[0.0] * (attended.weights.shape[1] - len(truth.weights))]
        np.testing.assert_allclose(attended.weights[row].numpy(), weights, atol=1e-6, rtol=0)
        np.testing.assert_allclose(context[row].numpy(), truth.context, atol=3e-6, rtol=1e-5)
    return [row.numbers for row in rows]


def assert_all_right(case: Case, steps: int, seed: int) -> list[int]:
    """Compares all steps at once with what is expected of each, from the beginning of the source of a case; returns
    where they stop."""
    source = case.source._replace(first=None)
    rows, columns, _ = source.values.shape
    draw = torch.Generator().manual_seed(seed)
    queries = [torch.randint(-2, 3, (rows, steps, SIZE), generator=draw).float() for _ in case.energies]
    if case.energies[0].direction is not None:
        queries = [query + torch.randn(query.shape, generator=draw) for query in queries]
    stop, chunk = (energy._replace(query=query) for energy, query in zip(case.energies, queries, strict=True))
    contexts, weights, alpha = hard_steps((stop, chunk), source, case.rule)
    state = (torch.zeros(rows, dtype=torch.int64),) * 2
    stops = []
    for step in range(steps):
        energies = stop._replace(query=stop.query[:, step]), chunk._replace(query=chunk.query[:, step])
        truths = [expected(case._replace(energies=energies, source=source, state=state), row) for row in range(rows)]
        for row, truth in enumerate(truths):
            assert stop.direction is None or truth.nearest > 1e-5, (
                "these numbers are rounded to either sign: draw others"
            )
            whole = np.zeros(columns)
            whole[truth.numbers[3] :][: len(truth.weights)] = truth.weights
            np.testing.assert_allclose(weights[row, step].numpy(), whole, atol=1e-6, rtol=0)
            np.testing.assert_allclose(contexts[row, step].numpy(), truth.context, atol=3e-6, rtol=1e-5)
            stops.append(truth.numbers[0])
            assert alpha[row, step].nonzero().flatten().tolist() == [stops[-1]] * (stops[-1] >= 0)
            assert alpha[row, step].sum() == (stops[-1] >= 0)
        state = tuple(torch.tensor([truth.numbers[place] for truth in truths]) for place in (1, 2))
    return stops
