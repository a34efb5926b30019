"""Against the loop in float64, and against a closed form where there is one."""

from functools import partial

import pytest
from hypothesis import given, settings, strategies as st

from mt.ops.scan import linear_scan
from tests.marks import combined
from tests.ops import oracle
from tests.ops.arguments import assert_agree, energies, probabilities

KINDS = ("any", "extremes", "zeros and ones", "ones", "zeros", "sharp")


@given(
    kind=st.sampled_from(KINDS),
    reverse=st.booleans(),
    steps=st.integers(1, 60),
    hidden=st.integers(1, 9),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=40, deadline=None)
def test_equals_the_recurrence(kind, reverse, steps, hidden, seed):
    decay = probabilities(kind, (2, steps, hidden), seed)
    inputs = energies(1.0, (2, steps, hidden), seed) * (1 - decay)
    start = energies(1.0, (2, hidden), seed + 1)
    ours, truth = (partial(scan, reverse=reverse) for scan in (linear_scan, oracle.linear_scan))
    assert_agree(ours, truth, (decay, inputs, start), seed)


@combined(kind=["near one", "ones", "any"], reverse=[False, True])
def test_ten_thousand_steps_lose_nothing(kind: str, reverse: bool):
    shape = (1, 10_000, 3)
    decay = 1 - 1e-3 * probabilities("any", shape, 1) if kind == "near one" else probabilities(kind, shape, 1)
    inputs = energies(1.0, shape, 1)
    truth = oracle.linear_scan(decay, inputs, reverse=reverse)
    error = (linear_scan(decay, inputs, reverse=reverse).double() - truth).abs().max()
    assert error < 1e-7 * truth.abs().max()


@pytest.mark.parametrize("shape", [(4, 1), (2, 3, 4, 5), (2, 4, 0)])
def test_rows_of_any_number_of_dimensions(shape: tuple[int, ...]):
    parts = [energies(1.0, size, 3) for size in (shape, shape, (*shape[:-2], shape[-1]))]
    if all(shape):
        assert_agree(linear_scan, oracle.linear_scan, parts)
    assert linear_scan(*parts).shape == shape
