"""Against equation 13 in float64, and independently of it against one softmax for each stop in plain Python."""

import math

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor

from mt.ops.chunkwise import chunkwise_attention
from tests.ops import oracle

KINDS = ("any", "one stop", "nothing", "everywhere")


def alphas(kind: str, shape: tuple[int, int], seed: int) -> Tensor:
    uniform = torch.rand(shape, generator=torch.Generator().manual_seed(seed))
    if kind == "one stop":
        return torch.nn.functional.one_hot(uniform.argmax(-1), shape[-1]).float()
    if kind == "everywhere":
        return torch.full(shape, 1 / shape[-1])
    return uniform * (0.9 / uniform.sum(-1, keepdim=True) if kind == "any" else 0.0)


def require_equation(assert_agree, alpha: Tensor, energy: Tensor, chunk_size: int) -> None:
    ours, truth = (
        lambda *parts, function=function: function(*parts, chunk_size)
        for function in (chunkwise_attention, oracle.chunkwise_attention)
    )
    assert_agree(ours, truth, [alpha, energy])


def test_worked_out_by_hand():
    # The stop at 1 shares 0.5 between energies of one size; the stop at 2 has exp(log 3) = 3 against 1.
    alpha = torch.tensor([[0.25, 0.5, 0.25]])
    energy = torch.tensor([[0.0, 0.0, math.log(3.0)]])
    torch.testing.assert_close(chunkwise_attention(alpha, energy, 2), torch.tensor([[0.5, 0.25 + 0.0625, 0.1875]]))


@given(
    kind=st.sampled_from(KINDS),
    size=st.sampled_from([0.0, 1.0, 50.0, 1000.0]),
    positions=st.integers(1, 30),
    chunk_size=st.integers(1, 33),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=40, deadline=None)
def test_equals_the_equation(
    energies, assert_agree, kind: str, size: float, positions: int, chunk_size: int, seed: int
):
    shape = (1, positions)
    require_equation(assert_agree, alphas(kind, shape, seed), energies(size, shape, seed), chunk_size)


@pytest.mark.parametrize("chunk_size", [1, 8])
def test_equals_the_equation_on_a_long_source(energies, assert_agree, chunk_size: int):
    require_equation(assert_agree, alphas("any", (1, 400), 4), energies(50.0, (1, 400), 4), chunk_size)


def test_a_window_far_below_the_rest_keeps_its_mass():
    # A common offset for the sentence would leave exp(-2000) = 0 of the last window, and divide by it.
    alpha = torch.tensor([[0.0, 0.0, 0.0, 1.0]])
    energy = torch.tensor([[1000.0, 1000.0, -1000.0, -1000.0]])
    assert chunkwise_attention(alpha, energy, 2).tolist() == [[0.0, 0.0, 0.5, 0.5]]


def test_padding_right_of_every_stop_changes_nothing(energies):
    alpha = alphas("any", (2, 10), 2)
    energy = energies(5.0, (2, 10), 2)
    for fill in (-math.inf, 0.0, 1e4):
        padded = chunkwise_attention(
            torch.nn.functional.pad(alpha, (0, 6)), torch.nn.functional.pad(energy, (0, 6), value=fill), 4
        )
        assert torch.equal(padded[:, :10], chunkwise_attention(alpha, energy, 4))
        assert not padded[:, 10:].any()


@pytest.mark.parametrize("chunk_size", [1, 3, 12])
def test_energies_of_minus_infinity_have_no_weight_and_no_gradient(energies, assert_agree, chunk_size: int):
    alpha = alphas("everywhere", (1, 9), 6)
    energy = energies(3.0, (1, 9), 6)
    energy[0, 0:2] = energy[0, 4] = energy[0, 6:] = -math.inf
    require_equation(assert_agree, alpha, energy, chunk_size)


@pytest.mark.parametrize("chunk_size", [0, -1])
def test_refuses_chunks_of_nothing(chunk_size: int):
    with pytest.raises(ValueError, match=f"chunk_size must be at least 1, got {chunk_size}"):
        chunkwise_attention(torch.zeros(1, 3), torch.zeros(1, 3), chunk_size)
