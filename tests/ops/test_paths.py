"""Every path that the pointer of a monotonic attention can take, one by one: the second truth of its expectations.

It starts at position 0. In each step it moves right from where it stopped last, that position included, and stops at
each position with probability p, or leaves the sentence, for good. What a step reads follows from where it stopped and
where the step before did; its expectation is the sum over whole paths of probability times that.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor

from mt.ops.adaptive_chunkwise import adaptive_chunkwise_attention
from mt.ops.chunkwise import chunkwise_attention
from mt.ops.expected import expected_alignment
from mt.ops.infinite_lookback import infinite_lookback_attention
from tests.ops import oracle
from tests.ops.arguments import energies, probabilities

Chunk = Callable[[int, int], range]


def every_path(p: list[list[float]], begin: int = 0) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Each path as its probability and its stops, which end early where the pointer leaves the sentence."""
    if not p:
        yield 1.0, ()
        return
    passed = 1.0
    for stop in range(begin, len(p[0])):
        for probability, stops in every_path(p[1:], stop):
            yield passed * p[0][stop] * probability, (stop, *stops)
        passed *= 1 - p[0][stop]
    yield passed, ()


def softmax(energy: list[float]) -> list[float]:
    weights = [math.exp(u - max(energy)) for u in energy]
    return [weight / math.fsum(weights) for weight in weights]


def expectation(p: Tensor, energy: Tensor, chunk: Chunk) -> Tensor:
    """[T, S]: the weights that each step gives, on average over the paths. p, energy: [T, S].

    chunk: (where the previous step stopped, where this one did) -> the positions of the softmax.
    """
    weights = torch.zeros(p.shape, dtype=torch.float64)
    energies = energy.double().tolist()
    for probability, stops in every_path(p.double().tolist()):
        for step, (previous, stop) in enumerate(zip((0, *stops), stops, strict=False)):
            positions = chunk(previous, stop)
            shares = softmax([energies[step][j] for j in positions])
            for j, share in zip(positions, shares, strict=True):
                weights[step, j] += probability * share
    return weights


def previous_alignment(alpha: Tensor) -> Tensor:
    """[B, T, S]: where each step starts, given where each stops; the first starts at position 0."""
    first = torch.eye(alpha.shape[2], dtype=alpha.dtype)[:1].expand(len(alpha), 1, -1)
    return torch.cat((first, alpha[:, :-1]), 1)


def test_the_paths_are_all_there_are():
    # Two steps on two positions: 0 0, 0 1, 0 and out, 1 1, 1 and out, out.
    paths = {stops: probability for probability, stops in every_path([[0.5, 0.25], [0.5, 0.25]])}
    assert paths == {(0, 0): 0.25, (0, 1): 0.0625, (0,): 0.1875, (1, 1): 0.03125, (1,): 0.09375, (): 0.375}


def of_functions(kind: str, p: Tensor, energy: Tensor, size: int, module: Any) -> Tensor:
    """The expectation by the functions of mt.ops, or of the oracle."""
    alpha = module["expected_alignment"](p, torch.eye(p.shape[2])[:1])
    if kind == "monotonic":
        return alpha
    if kind == "mocha":
        return module["chunkwise_attention"](alpha, energy, size)
    if kind == "milk":
        return module["infinite_lookback_attention"](alpha, energy)
    return module["adaptive_chunkwise_attention"](previous_alignment(alpha), p, energy)


OURS = {
    function.__name__: function
    for function in (adaptive_chunkwise_attention, chunkwise_attention, expected_alignment, infinite_lookback_attention)
}
CHUNKS: dict[str, Callable[[int], Chunk]] = {
    "monotonic": lambda size: lambda previous, stop: range(stop, stop + 1),
    "mocha": lambda size: lambda previous, stop: range(max(0, stop - size + 1), stop + 1),
    "matcha": lambda size: lambda previous, stop: range(previous, stop + 1),
    "milk": lambda size: lambda previous, stop: range(stop + 1),
}


@pytest.mark.parametrize("name", CHUNKS)
@given(
    kind=st.sampled_from(["any", "zeros and ones", "extremes", "ones", "zeros", "sharp"]),
    size=st.sampled_from([1.0, 50.0]),
    steps=st.integers(1, 4),
    positions=st.integers(1, 4),
    seed=st.integers(0, 2**31),
    chunk_size=st.integers(1, 5),
)
@settings(max_examples=50, deadline=None)
def test_what_is_read_is_the_expectation_over_all_paths(name, kind, size, steps, positions, seed, chunk_size):
    p = probabilities(kind, (1, steps, positions), seed)
    energy = energies(size, (1, steps, positions), seed)
    truth = expectation(p[0], energy[0], CHUNKS[name](chunk_size))
    ours, exact = (of_functions(name, p, energy, chunk_size, module) for module in (OURS, vars(oracle)))
    assert ours.dtype == torch.float32
    torch.testing.assert_close(exact[0], truth, atol=1e-12, rtol=0)
    torch.testing.assert_close(ours[0].double(), truth, atol=1e-6, rtol=0)
