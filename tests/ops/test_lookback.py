"""Soft attention over what lies before a stop, of MoChA, MILk and MAtChA: against their equations in float64."""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor
from torch.nn.functional import pad

import mt.ops.adaptive_chunkwise
from mt.ops.adaptive_chunkwise import adaptive_chunkwise_attention
from mt.ops.chunkwise import chunkwise_attention
from mt.ops.infinite_lookback import infinite_lookback_attention
from tests.ops import oracle
from tests.ops.arguments import assert_agree, energies, probabilities

KINDS = ("any", "zeros and ones", "extremes", "ones", "zeros", "sharp", "distribution", "one position")


class Lookback(NamedTuple):
    """A function of (probabilities of stops, energies), and of MAtChA of those of the step before, too."""

    compute: Callable[..., Tensor]
    exact: Callable[..., Tensor]
    starts: bool = False

    def arguments(self, draw: Callable[..., Tensor], kind: str, shape: tuple[int, ...], seed: int) -> list[Tensor]:
        """The probabilities. Of MAtChA those of stopping at a position that is reached, else of stopping there."""
        if self.starts:
            return [draw("distribution", shape, seed), draw(kind, shape, seed + 1)]
        alpha = draw(kind, shape, seed)
        return [alpha / alpha.sum(-1, keepdim=True).clamp(min=1.0)]


FUNCTIONS = {
    f"MoChA, w = {size}": Lookback(
        partial(chunkwise_attention, chunk_size=size), partial(oracle.chunkwise_attention, chunk_size=size)
    )
    for size in (1, 3, 8, 33)
} | {
    "MILk": Lookback(infinite_lookback_attention, oracle.infinite_lookback_attention),
    "MAtChA": Lookback(adaptive_chunkwise_attention, oracle.adaptive_chunkwise_attention, starts=True),
}
every_one = pytest.mark.parametrize("name", FUNCTIONS)


@every_one
@given(
    kind=st.sampled_from(KINDS),
    size=st.sampled_from([0.0, 1.0, 50.0, 300.0, 1000.0]),
    positions=st.integers(1, 20),
    padded=st.integers(0, 8),
    fill=st.sampled_from([-math.inf, 0.0, 1e4]),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=40, deadline=None)
def test_equals_the_equation(name, kind, size, positions, padded, fill, seed):
    """Behind the source, too, where nothing stops."""
    shape = (2, 3, positions)
    parts = [pad(x, (0, padded)) for x in FUNCTIONS[name].arguments(probabilities, kind, shape, seed)]
    energy = pad(energies(size, shape, seed), (0, padded), value=fill)
    assert_agree(FUNCTIONS[name].compute, FUNCTIONS[name].exact, (*parts, energy), seed)
    beta = FUNCTIONS[name].compute(*parts, energy)
    assert not beta[..., positions:].any()


@pytest.mark.parametrize("kind", ["distribution", "one position", "sharp"])
@pytest.mark.parametrize("name", ["MoChA, w = 1", "MoChA, w = 8", "MILk"])
def test_equals_the_equation_on_a_long_source(name: str, kind: str):
    parts = FUNCTIONS[name].arguments(probabilities, kind, (1, 400), 4)
    assert_agree(FUNCTIONS[name].compute, FUNCTIONS[name].exact, (*parts, energies(50.0, (1, 400), 4)))


@every_one
def test_energies_of_minus_infinity_have_no_weight_and_no_gradient(name: str):
    energy = energies(3.0, (1, 9), 6)
    energy[0, 0:2] = energy[0, 4] = energy[0, 6:] = -math.inf
    parts = FUNCTIONS[name].arguments(probabilities, "any", (1, 9), 5)
    assert_agree(FUNCTIONS[name].compute, FUNCTIONS[name].exact, (*parts, energy))


def test_what_lies_far_below_the_rest_keeps_its_mass():
    # A common offset for the sentence would leave exp(-2000) = 0 of these positions, and divide by it.
    alpha = torch.tensor([[0.0, 0.0, 0.0, 1.0]])
    energy = torch.tensor([[1000.0, 1000.0, -1000.0, -1000.0]])
    assert chunkwise_attention(alpha, energy, 2).tolist() == [[0.0, 0.0, 0.5, 0.5]]
    assert infinite_lookback_attention(alpha.roll(-2, 1), -energy).tolist() == [[0.5, 0.5, 0.0, 0.0]]


@pytest.mark.parametrize("gap", [-40.0, 40.0])
@pytest.mark.parametrize("name", ["MILk", "MAtChA"])
def test_a_tiny_gradient_is_not_lost_in_rounding(name: str, gap: float):
    # One position has all but exp(-40) of the sum: the derivative of the softmax, times the gradients' difference.
    energy = torch.tensor([0.0, gap], requires_grad=True)
    starts = [torch.tensor([1.0, 0.0])] if FUNCTIONS[name].starts else []
    FUNCTIONS[name].compute(*starts, torch.tensor([0.0, 1.0]), energy).backward(torch.tensor([3.0, 1.0]))
    truth = 2 * math.exp(-40.0)
    assert energy.grad is not None
    torch.testing.assert_close(energy.grad, torch.tensor([truth, -truth]), atol=0, rtol=1e-6)


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch):
    # A row has 210 chunks, of 3 numbers forward and 5 backward, of 8 bytes: 5 rows at a time and 3, of 24.
    monkeypatch.setitem(mt.ops.adaptive_chunkwise.BLOCK_BYTES, "cpu", 5 * 210 * 3 * 8)
    parts = FUNCTIONS["MAtChA"].arguments(probabilities, "any", (8, 3, 20), 1)
    energy = energies(50.0, (8, 3, 20), 2)
    assert_agree(adaptive_chunkwise_attention, oracle.adaptive_chunkwise_attention, (*parts, energy))


@pytest.mark.parametrize("chunk_size", [0, -1])
def test_refuses_chunks_of_nothing(chunk_size: int):
    with pytest.raises(ValueError, match=f"chunk_size must be at least 1, got {chunk_size}"):
        chunkwise_attention(torch.zeros(1, 3), torch.zeros(1, 3), chunk_size)
