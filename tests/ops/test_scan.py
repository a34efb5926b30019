"""Against the loop in float64, and against a closed form where there is one."""

import pytest
import torch
from hypothesis import given, settings, strategies as st

from mt.ops.scan import linear_scan, shift_left, shift_right
from tests.ops import oracle


def test_worked_out_by_hand():
    decay = torch.tensor([9.0, 0.5, 2.0, 0.0])
    inputs = torch.tensor([1.0, 3.0, -7.0, 4.0])
    assert linear_scan(decay, inputs).tolist() == [1.0, 3.5, 0.0, 4.0]
    # From the right: 4; 2 * 4 - 7 = 1; 0.5 * 1 + 3 = 3.5; 9 * 3.5 + 1 = 32.5.
    assert linear_scan(decay, inputs, reverse=True).tolist() == [32.5, 3.5, 1.0, 4.0]


@given(
    kind=st.sampled_from(["any", "extremes", "zeros and ones", "ones", "zeros"]),
    reverse=st.booleans(),
    positions=st.integers(1, 60),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=60, deadline=None)
def test_equals_the_recurrence(probabilities, kind: str, reverse: bool, positions: int, seed: int):
    decay = probabilities(kind, (2, 3, positions), seed)
    inputs = probabilities("distribution", (2, 3, positions), seed)
    truth = oracle.linear_scan(decay, inputs, reverse=reverse)
    assert linear_scan(decay, inputs, reverse=reverse).dtype == torch.float32
    torch.testing.assert_close(linear_scan(decay, inputs, reverse=reverse).double(), truth, atol=1e-5, rtol=1e-6)
    ours = linear_scan(decay.double(), inputs.double(), reverse=reverse)
    torch.testing.assert_close(ours, truth, atol=1e-14, rtol=1e-14)


@pytest.mark.parametrize("reverse", [False, True])
def test_without_decay_it_is_the_cumulative_sum(reverse: bool):
    inputs = torch.randn(3, 400, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    truth = inputs.flip(-1).cumsum(-1).flip(-1) if reverse else inputs.cumsum(-1)
    torch.testing.assert_close(linear_scan(torch.ones_like(inputs), inputs, reverse=reverse), truth)


@pytest.mark.parametrize("shape", [(2, 0), (0, 3), (4,)])
def test_any_shape(shape: tuple[int, ...]):
    inputs = torch.rand(shape)
    assert torch.equal(linear_scan(torch.zeros(shape), inputs), inputs)


def test_shifts():
    x = torch.tensor([[1.0, 2.0, 3.0]])
    assert shift_right(x).tolist() == [[0.0, 1.0, 2.0]]
    assert shift_left(x, 2, 9.0).tolist() == [[3.0, 9.0, 9.0]]
    assert shift_right(x, 5, 9.0).tolist() == [[9.0, 9.0, 9.0]]
    assert shift_left(x, 0) is x
