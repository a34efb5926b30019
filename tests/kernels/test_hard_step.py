"""Compiled hard steps against the process, one position after another, in float64."""

import sys
from collections.abc import Iterator

import pytest
import torch

from mt.kernels import hard_step as kernel
from mt.kernels.hard_step import PlainEnergy, hard_loops
from mt.step import NEEDS_MORE_SOURCE, SELECTED_NONE
from mt.trees import tensors_of
from tests.kernels.hard_steps import SIZE, Source, assert_all_right, assert_right, case, hard_step, hard_steps, rule

pytestmark = pytest.mark.skipif(hard_loops() is None, reason="numba cannot compile here")
LOOKBACKS = (0, 3, 10**9, None)
SHAPES = [(1, 1), (1, 40), (5, 1), (6, 23), (3, 200)]
"""Rows and columns."""


@pytest.fixture(autouse=True)
def without_gradient() -> Iterator[None]:
    with torch.no_grad():
        yield


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


@pytest.mark.parametrize("bias", [0.0, -1e-9])
def test_an_energy_of_zero_stops_and_one_just_below_does_not(bias: float):
    for additive in (False, True):
        chosen = case(0, 3, 5, 0, additive=additive)
        query = torch.zeros(3, SIZE)
        energy = chosen.energies[0]._replace(query=query, keys=torch.zeros(3, 5, SIZE), bias=torch.tensor(bias))
        source = Source(torch.zeros(3, 5, 2), torch.ones(3, 5, dtype=torch.bool))
        state = torch.zeros(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64)
        _, attended, _ = hard_step((energy, energy), source, state, rule(0, False))
        assert attended.stops.tolist() == [1 if bias == 0 else SELECTED_NONE] * 3
        assert attended.looked_at.tolist() == [1 if bias == 0 else 4] * 3


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
            _, attended, _ = hard_step((energy, energy), source, (start, start), rule(0, False))
            assert (attended.stops.item() == 0) == bool(one * two + bias >= 0)
            stopped += attended.stops.item() == 0
    assert stopped == 4000


@pytest.mark.parametrize("additive", [False, True])
def test_tensors_may_lie_anyhow_in_memory(additive: bool):
    """Keys of one table for all rows, sources cut from longer ones, columns before rows, every other number."""
    for seed in range(6):
        chosen = case(seed, 4, 30, 3, additive=additive)
        source = chosen.source
        stop, chunk = (energy._replace(keys=energy.keys[:1].expand(4, -1, -1)) for energy in chosen.energies)
        plain = tuple(energy._replace(keys=energy.keys.contiguous()) for energy in (stop, chunk))
        expected = tensors_of(chosen._replace(energies=plain).step())
        wide = torch.zeros(4, 40, 2 * SIZE)
        wide[:, 5:35, ::2] = source.values
        mask = torch.zeros(4, 40, dtype=torch.bool)
        mask[:, 5:35] = source.mask
        energies = stop._replace(query=stop.query.T.contiguous().T), chunk
        state = tuple(torch.stack((part, part), 1)[:, 0] for part in chosen.state)
        other = source._replace(values=wide[:, 5:35, ::2], mask=mask[:, 5:35])
        actual = tensors_of(hard_step(energies, other, state, chosen.rule))
        for ours, theirs in zip(actual, expected, strict=True):
            assert torch.equal(ours, theirs)


def test_queries_of_all_steps_may_lie_anyhow_in_memory():
    """Steps before rows, and every other number."""
    chosen = case(2, 4, 30, 3)
    source = chosen.source
    queries = torch.randn(4, 7, SIZE, generator=torch.Generator().manual_seed(1))
    wide = torch.zeros(4, 30, 2 * SIZE)
    wide[..., ::2] = source.values
    expected = hard_steps(tuple(energy._replace(query=queries) for energy in chosen.energies), source, rule(3, True))
    assert expected[2].any()
    for other in (queries.transpose(0, 1).contiguous().transpose(0, 1), torch.stack((queries, queries), -1)[..., 0]):
        energies = tuple(energy._replace(query=other) for energy in chosen.energies)
        for values in (source.values, wide[..., ::2]):
            actual = hard_steps(energies, source._replace(values=values), rule(3, True))
            assert all(torch.equal(*parts) for parts in zip(actual, expected, strict=True))


def test_each_row_is_as_alone():
    chosen = case(7, 6, 50, None)
    together = chosen.step()
    for row in range(6):
        one = slice(row, row + 1)
        energies = tuple(energy._replace(query=energy.query[one], keys=energy.keys[one]) for energy in chosen.energies)
        source = Source(*(None if part is None else part[one] for part in chosen.source))
        alone = chosen._replace(energies=energies, source=source, state=tuple(p[one] for p in chosen.state)).step()
        for ours, theirs in zip(tensors_of(together), tensors_of(alone), strict=True):
            assert torch.equal(ours[row, : theirs.shape[1]] if ours.dim() > 1 else ours[row], theirs[0])


def test_large_energies_and_what_is_no_number():
    """The softmax neither overflows nor hides NaN; an energy that is NaN stops nothing."""
    start = torch.zeros(1, dtype=torch.int64)
    source = Source(torch.ones(1, 2, 1), torch.ones(1, 2, dtype=torch.bool))
    for scores, weights in (([1e30, 1e30], [0.5, 0.5]), ([-1e4, 0.0], [0.0, 1.0]), ([0.0, torch.nan], [torch.nan] * 2)):
        stop = PlainEnergy(torch.ones(1, 1), torch.tensor([[[-1.0], [1.0]]]))
        chunk = PlainEnergy(torch.ones(1, 1), torch.tensor(scores).view(1, 2, 1))
        _, attended, _ = hard_step((stop, chunk), source, (start, start), rule(1, False))
        torch.testing.assert_close(attended.weights, torch.tensor([weights]), equal_nan=True)
    nan = stop._replace(keys=torch.full((1, 2, 1), torch.nan))
    _, attended, _ = hard_step((nan, nan), source, (start, start), rule(0, False))
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
        with pytest.raises(ValueError, match=r"do not fit|different numbers of queries"):
            hard_steps((stop._replace(query=queries), chunk._replace(query=other)), source, rule(3, True))


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
