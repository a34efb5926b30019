"""Against the recurrence in float64, and against a closed form where there is one."""

import pytest
import torch
from hypothesis import given, settings, strategies as st

from mt.ops import linear_scan, oracle


def test_worked_out_by_hand():
    decay, inputs = torch.tensor([9.0, 0.5, 2.0, 0.0]), torch.tensor([1.0, 3.0, -7.0, 4.0])
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
def test_equals_the_recurrence(probabilities, assert_agree, kind: str, reverse: bool, positions: int, seed: int):
    decay, inputs = probabilities(kind, (2, 3, positions), seed), probabilities("distribution", (2, 3, positions), seed)
    assert_agree(
        lambda a, b: linear_scan(a, b, reverse=reverse),
        lambda a, b: oracle.linear_scan(a, b, reverse=reverse),
        (decay, inputs),
        seed,
    )


@pytest.mark.parametrize("reverse", [False, True])
def test_without_decay_it_is_the_cumulative_sum(reverse: bool):
    inputs = torch.randn(3, 400, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    truth = inputs.flip(-1).cumsum(-1).flip(-1) if reverse else inputs.cumsum(-1)
    torch.testing.assert_close(linear_scan(torch.ones_like(inputs), inputs, reverse=reverse), truth)


@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_in_float64(reverse: bool):
    decay, inputs = torch.rand(2, 5, dtype=torch.float64), torch.randn(2, 5, dtype=torch.float64)
    decay[0, 2], decay[1, 0] = 0.0, 1.0
    arguments = (decay.requires_grad_(), inputs.requires_grad_())
    assert torch.autograd.gradcheck(lambda a, b: linear_scan(a, b, reverse=reverse), arguments)


def test_half_precision_is_computed_in_single():
    decay, inputs = torch.rand(2, 9).bfloat16(), torch.rand(2, 9).bfloat16()
    h = linear_scan(decay, inputs)
    assert h.dtype == torch.float32
    assert torch.equal(h, linear_scan(decay.float(), inputs.float()))


@pytest.mark.parametrize("shape", [(2, 0), (0, 3), (4,)])
def test_any_shape(shape: tuple[int, ...]):
    inputs = torch.rand(shape, requires_grad=True)
    h = linear_scan(torch.zeros(shape), inputs)
    h.sum().backward()
    assert torch.equal(h, inputs)
    assert inputs.grad is not None and torch.equal(inputs.grad, torch.ones(shape))


def test_refuses_shapes_that_differ():
    with pytest.raises(ValueError, match=r"decay and inputs must have one shape, got \(1, 3\) and \(1, 4\)"):
        linear_scan(torch.zeros(1, 3), torch.zeros(1, 4))
