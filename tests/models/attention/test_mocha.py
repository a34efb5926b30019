"""What is attended to at a stop: MoChA's chunk, MAtChA's since the last stop, MILk's since the beginning."""

import math
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from mt.models.attention.base import AttentionOutput, Memory
from mt.models.attention.energy import ConcatConfig, EnergyConfig, GeneralConfig
from mt.models.attention.matcha import MAtChA
from mt.models.attention.milk import MILk
from mt.models.attention.mocha import Chunkwise, MoChA, MoChAConfig
from mt.step import SELECTED_NONE
from tests.ops import oracle

SIZE = 6
MASS_PRESERVATION = (False, True)


class Kind(NamedTuple):
    attention: type[Chunkwise]
    options: dict[str, Any]

    def first(self, before: int, stop: int) -> int:
        """The first position that is attended to, given the stop before this one."""
        if self.attention is MoChA:
            return max(0, stop - self.options["chunk_size"] + 1)
        return before if self.attention is MAtChA else 0


KINDS = [
    Kind(MoChA, {"chunk_size": 2}),
    Kind(MoChA, {"chunk_size": 3}),
    Kind(MoChA, {"chunk_size": 20}),
    Kind(MAtChA, {}),
    Kind(MILk, {}),
]


@pytest.fixture(params=KINDS, ids=lambda kind: "".join([kind.attention.__name__, *map(str, kind.options.values())]))
def kind(request) -> Kind:
    return request.param


@pytest.fixture(params=[GeneralConfig(), ConcatConfig(attention_dim=5)], ids=["general", "concat"])
def energy(request) -> EnergyConfig:
    return request.param


@pytest.fixture(params=MASS_PRESERVATION)
def mass_preservation(request) -> str:
    return request.param


def build(kind: Kind, shake, energy: EnergyConfig = GeneralConfig(), **options: Any) -> Chunkwise:  # noqa: B008 - frozen
    config = kind.attention.Config(energy=energy, **kind.options, **options)
    return shake(kind.attention(config, SIZE, SIZE))


def energies(attention: Chunkwise, memory: Memory, queries: Tensor) -> tuple[Tensor, Tensor]:
    """p and u."""
    p = attention.energy(queries, memory.keys[0]).sigmoid()
    u = attention.chunk_energy(queries, memory.keys[1])
    return p.detach(), u.detach()


def shares(u: list[float], first: int, last: int) -> list[float]:
    """The softmax of u[first .. last], over the whole sentence."""
    chunk = [math.exp(x) if first <= s <= last else 0.0 for s, x in enumerate(u)]
    return [x / sum(chunk) for x in chunk]


def test_hard_steps_attend_to_their_chunk(kind: Kind, energy, mass_preservation: bool, batch, shake):
    attention = build(kind, shake, energy, mass_preservation=mass_preservation)
    with torch.no_grad():
        attention.energy.bias.zero_()
    memory = attention.init_memory(batch.encoded)
    p, u = energies(attention, memory, batch.queries)
    lengths = batch.mask.sum(1).tolist()
    state = attention.init_state(memory, hard=True)
    pointers = [0] * 8
    wide = 0
    for i, query in enumerate(batch.queries.unbind(1)):
        step = attention.step(query, memory, state, hard=True)
        state = step.state
        for row, length in enumerate(lengths):
            before = pointers[row]
            actual = [j for j in range(before, length) if p[row, i, j] >= 0.5]
            # A pointer that has left the sentence is at its length, where there is nothing to stop at.
            stop = actual[0] if actual else length - 1 if mass_preservation else length
            pointers[row] = stop
            expected = torch.zeros(11)
            if stop < length:
                first = kind.first(before, stop)
                expected[:length] = torch.tensor(shares(u[row, i, :length].tolist(), first, stop))
                wide += stop > first
            assert step.attended.stops[row] == (stop if stop < length else SELECTED_NONE)
            torch.testing.assert_close(AttentionOutput.stack([step], 11).weights[row, 0], expected, atol=1e-6, rtol=0)
    assert wide > 5


def test_soft_weights_are_those_of_the_papers(kind: Kind, energy, mass_preservation: bool, batch, shake):
    attention = build(kind, shake, energy, mass_preservation=mass_preservation)
    memory = attention.init_memory(batch.encoded)
    weights = attention(batch.queries, memory).weights
    p, u = energies(attention, memory, batch.queries)
    p = p * batch.mask[:, None]
    if mass_preservation:
        p = p.masked_fill(memory.is_last()[:, None], 1.0)
    start = torch.eye(11)[:1].expand(8, -1)
    alpha = oracle.expected_alignment(p, start)
    if kind.attention is MAtChA:
        previous = torch.cat((start[:, None].double(), alpha[:, :-1]), 1)
        truth = oracle.adaptive_chunkwise_attention(previous, p, u)
    else:
        truth = oracle.chunkwise_attention(alpha, u, kind.options.get("chunk_size", 11))
    torch.testing.assert_close(weights.double(), truth, atol=1e-6, rtol=0)
    assert mass_preservation == (weights.sum(-1) > 1 - 1e-5).all()


def test_sharp_probabilities_are_alike_soft_and_hard(kind: Kind, mass_preservation: bool, batch, shake):
    attention = build(kind, shake, mass_preservation=mass_preservation)
    with torch.no_grad():
        attention.energy.gain.fill_(1e6)
    memory = attention.init_memory(batch.encoded)
    p, _ = energies(attention, memory, batch.queries)
    assert ((p == 0) | (p == 1)).all() and p.any() and not p.all()
    soft = attention(batch.queries, memory)
    hard = attention(batch.queries, memory, hard=True)
    for ours, theirs in zip(soft[:3], hard[:3], strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)


def test_stops_and_chunks_have_energies_of_their_own(kind: Kind, energy):
    attention = kind.attention(kind.attention.Config(energy=energy), SIZE, SIZE)
    assert attention.chunk_energy.bias is None
    shared = {id(p) for p in attention.energy.parameters()} & {id(p) for p in attention.chunk_energy.parameters()}
    assert not shared


def test_the_size_of_a_chunk_is_known_where_it_is_fixed():
    assert MoChA(MoChAConfig(chunk_size=5), SIZE, SIZE).chunk_size == 5
    assert all(kind(kind.Config(), SIZE, SIZE).chunk_size is None for kind in (MAtChA, MILk))
