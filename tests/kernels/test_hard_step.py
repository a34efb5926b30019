"""Compiled hard steps against the process, one position after another, in float64."""

import math
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from mt.kernels import hard_step as kernel
from mt.kernels.hard_step import PlainEnergy, Rule, hard_loops, hard_step, hard_steps
from mt.step import NEEDS_MORE_SOURCE, SELECTED_NONE, Attended

pytestmark = pytest.mark.skipif(hard_loops() is None, reason="numba cannot compile here")
LOOKBACKS = (0, 3, 10**9, None)
"""None: as far as the last stop."""
SHAPES = [(1, 1), (1, 40), (5, 1), (6, 23), (3, 200)]
"""Rows and columns."""
SIZE = 19
"""Of queries, keys and values: no multiple of what a processor adds up at once."""


@pytest.fixture(autouse=True)
def without_gradient() -> Iterator[None]:
    with torch.no_grad():
        yield


class Source(NamedTuple):
    """As `mt.kernels.hard_step.Source`."""

    values: Tensor
    mask: Tensor
    complete: Tensor | None = None
    first: Tensor | None = None


class Case(NamedTuple):
    energies: tuple[PlainEnergy, PlainEnergy]
    source: Source
    state: tuple[Tensor, Tensor]
    rule: Rule

    def step(self) -> tuple[Tensor, Attended, tuple[Tensor, Tensor]]:
        return hard_step(self.energies, tuple(self.source), self.state, self.rule)


def rule(lookback: int | None, mass_preservation: bool) -> Rule:
    return 10**9 if lookback is None else lookback, int(lookback is None), int(mass_preservation)


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
    lookback, since_last_stop, mass_preservation = case.rule
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
    if stop is None and mass_preservation and position > 0:
        stop = position - 1
    if stop is None:
        numbers = [SELECTED_NONE, last_stop + offset, position + offset, offset, looked_at]
        return Expected(nothing, [], numbers, nearest)
    first = last_stop if since_last_stop else max(0, stop - lookback)
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
    contexts, weights, alpha = hard_steps((stop, chunk), tuple(source), case.rule)
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


@pytest.mark.parametrize("additive", [False, True], ids=["dot", "additive"])
@pytest.mark.parametrize("lookback", LOOKBACKS)
def test_a_step_is_the_process(lookback: int | None, additive: bool):
    outcomes = []
    for rows, columns in SHAPES:
        for seed in range(12):
            outcomes += assert_right(case(seed, rows, columns, lookback, additive=additive))
    stops = [stop for stop, *_ in outcomes]
    assert stops.count(SELECTED_NONE) > 5 and stops.count(NEEDS_MORE_SOURCE) > 5
    assert sum(stop >= 0 for stop in stops) > 50 and max(looked_at for *_, looked_at in outcomes) > 3


def test_a_window_is_as_wide_as_the_way_from_the_last_stop():
    """Nothing stops a row before the last position, where it stops, since mass is preserved."""
    for seed in range(4):
        chosen = case(seed, 3, 800, None)
        stop, chunk = chosen.energies
        never = stop._replace(bias=torch.tensor(-1e6))
        chosen = chosen._replace(
            energies=(never, chunk), source=chosen.source._replace(complete=None), rule=rule(None, True)
        )
        assert_right(chosen)
        assert chosen.step()[1].weights.shape[1] > 2 * kernel.WINDOW


def test_a_step_calls_no_python_from_its_loop():
    """There a signal's handler would run, and what it raises would leave numba as a SystemError."""
    called = []
    chosen = case(3, 3, 30, 3)
    chosen.step()
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_filename) if event == "call" else None)
    try:
        chosen.step()
    finally:
        sys.setprofile(None)
    assert any(name.endswith("hard_step.py") for name in called)
    assert not [name for name in called if "numba" in name and "site-packages" in name]


@pytest.mark.parametrize("additive", [False, True], ids=["dot", "additive"])
@pytest.mark.parametrize("lookback", LOOKBACKS)
def test_all_steps_are_the_process(lookback: int | None, additive: bool):
    stops = []
    for rows, columns in SHAPES:
        for seed in range(3):
            stops += assert_all_right(case(seed, rows, columns, lookback, additive=additive), steps=6, seed=seed)
    assert stops.count(SELECTED_NONE) > 5 and stops.count(NEEDS_MORE_SOURCE) > 5
    assert len({stop for stop in stops if stop >= 0}) > 5


def test_a_sum_that_rounding_makes_zero_stops_as_in_torch():
    """gain * energy is rounded before the bias is added, and not after."""
    draw = torch.Generator().manual_seed(1)
    gain, product = torch.rand(2, 4000, generator=draw)
    stopped = 0
    for one, two in zip(gain, product, strict=True):
        for bias in (-(one * two), torch.nextafter(-(one * two), torch.tensor(-1.0))):
            energy = PlainEnergy(two.view(1, 1), torch.ones(1, 1, 1), gain=one, bias=bias)
            source = Source(torch.ones(1, 1, 1), torch.ones(1, 1, dtype=torch.bool))
            start = torch.zeros(1, dtype=torch.int64)
            _, attended, _ = hard_step((energy, energy), tuple(source), (start, start), rule(0, False))
            assert (attended.stops.item() == 0) == bool(one * two + bias >= 0)
            stopped += attended.stops.item() == 0
    assert stopped == 4000


def test_large_energies_and_what_is_no_number():
    """The softmax neither overflows nor hides NaN; an energy that is NaN stops nothing."""
    start = torch.zeros(1, dtype=torch.int64)
    source = Source(torch.ones(1, 2, 1), torch.ones(1, 2, dtype=torch.bool))
    for scores, weights in (([1e30, 1e30], [0.5, 0.5]), ([-1e4, 0.0], [0.0, 1.0]), ([0.0, torch.nan], [torch.nan] * 2)):
        stop = PlainEnergy(torch.ones(1, 1), torch.tensor([[[-1.0], [1.0]]]))
        chunk = PlainEnergy(torch.ones(1, 1), torch.tensor(scores).view(1, 2, 1))
        _, attended, _ = hard_step((stop, chunk), tuple(source), (start, start), rule(1, False))
        torch.testing.assert_close(attended.weights, torch.tensor([weights]), equal_nan=True)
    nan = stop._replace(keys=torch.full((1, 2, 1), torch.nan))
    _, attended, _ = hard_step((nan, nan), tuple(source), (start, start), rule(0, False))
    assert attended.stops.item() == SELECTED_NONE


def test_shapes_that_do_not_fit_are_refused():
    """The loop would read beyond the end of what is too short."""
    chosen = case(3, 4, 9, 3)
    stop, chunk = chosen.energies
    source = chosen.source
    positions = chosen.state[1]
    for changes in (
        {"energies": (stop, chunk._replace(query=torch.zeros(4, SIZE + 1)))},
        {"energies": (stop._replace(query=torch.zeros(3, SIZE)), chunk)},
        {"energies": (stop, chunk._replace(keys=chunk.keys[:, :5]))},
        {"source": source._replace(mask=source.mask[:, :5])},
        {"source": source._replace(values=source.values[:2])},
        {"state": (positions[:3], positions)},
    ):
        with pytest.raises(ValueError, match=r"do not fit|another number of rows"):
            chosen._replace(**changes).step()
    queries = torch.zeros(4, 3, SIZE)
    for other in (queries[:, :2], queries[:3], queries[..., 1:]):
        with pytest.raises(ValueError, match="do not fit"):
            hard_steps((stop._replace(query=queries), chunk._replace(query=other)), tuple(source), rule(3, True))


def test_where_it_is_not_for():
    row = torch.zeros(1, 2)
    values = torch.zeros(1, 1, 2)
    assert kernel.is_compiled(row, values)
    assert not kernel.is_compiled(row.double(), values.double()) and not kernel.is_compiled(row, values.bfloat16())
    with torch.autocast("cpu"):
        assert not kernel.is_compiled(row, values)
    with torch.enable_grad():
        assert not kernel.is_compiled(row, values)
    assert not kernel.is_compiled(row.to("meta"), values.to("meta"))
