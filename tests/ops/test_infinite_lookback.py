"""Against one softmax for each stop, in float64."""

import math

import pytest
import torch
from hypothesis import given, settings, strategies as st

from mt.ops.infinite_lookback import infinite_lookback_attention
from tests.ops import oracle

KINDS = ("distribution", "one position", "zeros", "sharp")


def test_worked_out_by_hand():
    # The stop at 1 shares 0.5 between 1 and 3; the stop at 2 shares 0.4 between 1, 3 and 4.
    alpha = torch.tensor([0.1, 0.5, 0.4])
    energy = torch.tensor([0.0, math.log(3.0), math.log(4.0)])
    torch.testing.assert_close(
        infinite_lookback_attention(alpha, energy), torch.tensor([0.1 + 0.125 + 0.05, 0.375 + 0.15, 0.2])
    )


@given(
    kind=st.sampled_from(KINDS),
    size=st.sampled_from([1.0, 50.0, 300.0]),
    positions=st.integers(1, 60),
    padded=st.integers(0, 20),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=80, deadline=None)
def test_equals_the_equation(
    probabilities, energies, assert_agree, kind: str, size: float, positions: int, padded: int, seed: int
):
    alpha = probabilities(kind, (2, positions), seed)
    energy = energies(size, (2, positions), seed)
    alpha = alpha / alpha.sum(-1, keepdim=True).clamp(min=1.0)
    energy[:, positions - min(padded, positions - 1) :] = -math.inf
    assert_agree(infinite_lookback_attention, oracle.infinite_lookback_attention, (alpha, energy), seed)


@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_equation_on_a_long_source(probabilities, energies, assert_agree, kind: str):
    alpha = probabilities(kind, (1, 400), 4)
    alpha = alpha / alpha.sum(-1, keepdim=True).clamp(min=1.0)
    assert_agree(infinite_lookback_attention, oracle.infinite_lookback_attention, (alpha, energies(50.0, (1, 400), 4)))


def test_a_large_energy_takes_nothing_from_the_stops_before_it():
    # A common offset for the sentence would leave exp(-2000) = 0 of the first two positions, and divide by it.
    alpha = torch.tensor([0.0, 1.0, 0.0])
    energy = torch.tensor([-1000.0, -1000.0, 1000.0])
    assert infinite_lookback_attention(alpha, energy).tolist() == [0.5, 0.5, 0.0]


def test_padding_right_of_every_stop_changes_nothing(probabilities, energies):
    alpha = probabilities("distribution", (2, 10), 2)
    energy = energies(5.0, (2, 10), 2)
    upstream = torch.randn(2, 16)
    for fill in (-math.inf, 0.0, 1e4):
        padded = torch.nn.functional.pad(energy, (0, 6), value=fill).requires_grad_()
        beta = infinite_lookback_attention(torch.nn.functional.pad(alpha, (0, 6)), padded)
        beta.backward(upstream)
        torch.testing.assert_close(beta[:, :10], infinite_lookback_attention(alpha, energy), atol=1e-7, rtol=0)
        assert padded.grad is not None
        assert not beta[:, 10:].any() and not padded.grad[:, 10:].any()


@pytest.mark.parametrize("gap", [-40.0, 40.0])
def test_a_tiny_gradient_is_not_lost_in_rounding(gap: float):
    # One position has all but exp(-40) of the sum: the derivative of the softmax, times the gradients' difference.
    energy = torch.tensor([0.0, gap], requires_grad=True)
    infinite_lookback_attention(torch.tensor([0.0, 1.0]), energy).backward(torch.tensor([3.0, 1.0]))
    truth = 2 * math.exp(-40.0)
    assert energy.grad is not None
    torch.testing.assert_close(energy.grad, torch.tensor([truth, -truth]), atol=0, rtol=1e-6)
