"""What is read up to a stop: MoChA's chunk, MAtChA's way since the last stop, MILk's way since the beginning."""

import math
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from mt.models.attention import Attention, Memory
from mt.models.attention.energy import ConcatConfig, EnergyConfig, GeneralConfig
from mt.models.attention.mocha import Chunkwise, MAtChA, MILk, MoChA, MoChAConfig
from mt.ops import oracle

SIZE = 6
EXHAUSTED = ("zeros", "last")


class Kind(NamedTuple):
    attention: type[Chunkwise]
    options: dict[str, Any]

    def first(self, before: int, stop: int) -> int:
        """Where reading begins, given the stop before this one."""
        if self.attention is MoChA:
            return max(0, stop - self.options["width"] + 1)
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


@pytest.fixture(params=EXHAUSTED)
def exhausted(request) -> str:
    return request.param


def build(kind: Kind, shake, energy: EnergyConfig = GeneralConfig(), **options: Any) -> Chunkwise:  # noqa: B008 - frozen
    config = kind.attention.Config(energy=energy, **kind.options, **options)
    return shake(kind.attention(config, SIZE, SIZE))


def energies(attention: Chunkwise, memory: Memory, queries: Tensor) -> tuple[Tensor, Tensor]:
    """p and u."""
    p, u = attention.energy(queries, memory.keys[0]).sigmoid(), attention.chunk_energy(queries, memory.keys[1])
    return p.detach(), u.detach()


def shares(u: list[float], first: int, last: int) -> list[float]:
    """The softmax of u[first .. last], over the whole sentence."""
    chunk = [math.exp(x) if first <= s <= last else 0.0 for s, x in enumerate(u)]
    return [x / sum(chunk) for x in chunk]


def test_hard_steps_read_from_their_beginning_to_their_stop(kind: Kind, energy, exhausted: str, batch, shake):
    attention = build(kind, shake, energy, exhausted=exhausted)
    with torch.no_grad():
        attention.energy.offset.zero_()
    memory = attention.remember(batch.values, batch.mask)
    p, u = energies(attention, memory, batch.queries)
    lengths = batch.mask.sum(1).tolist()
    state, heads, wide = attention.start(memory), [0] * 8, 0
    for i, query in enumerate(batch.queries.unbind(1)):
        read = attention.step(query, memory, state, hard=True)
        state = read.state
        for row, length in enumerate(lengths):
            before = heads[row]
            found = [j for j in range(before, length) if p[row, i, j] >= 0.5]
            # A head that has left the sentence is at its length, from where there is nothing to stop at.
            stop = found[0] if found else length - 1 if exhausted == "last" else length
            heads[row] = stop
            expected = torch.zeros(11)
            if stop < length:
                first = kind.first(before, stop)
                expected[:length] = torch.tensor(shares(u[row, i, :length].tolist(), first, stop))
                wide += stop > first
            assert read.stops[row] == (stop if stop < length else 11)
            torch.testing.assert_close(read.weights[row], expected, atol=1e-6, rtol=0)
    assert wide > 5


def expectation(kind: Kind, p: list[list[float]], u: list[list[float]], head: int = 0) -> list[list[float]]:
    """The weights of all steps, expected over all paths of a head that is at `head` before the first."""
    length = len(p[0])
    weights = [[0.0] * length for _ in p]
    passed = 1.0
    for stop in range(head, length):
        chance = passed * p[0][stop]
        passed *= 1 - p[0][stop]
        read = shares(u[0], kind.first(head, stop), stop)
        rest = expectation(kind, p[1:], u[1:], stop) if len(p) > 1 else []
        for step, row in enumerate([read, *rest]):
            for s, weight in enumerate(row):
                weights[step][s] += chance * weight
    return weights


def test_soft_weights_are_the_expectation_over_all_paths(kind: Kind, exhausted: str, batch, shake):
    attention = build(kind, shake, exhausted=exhausted)
    memory, steps = attention.remember(batch.values, batch.mask), 4
    _, weights = attention(batch.queries[:, :steps], memory)
    p, u = energies(attention, memory, batch.queries[:, :steps])
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        if length > 7:
            continue
        real = p[row, :, :length].double()
        if exhausted == "last":
            real[:, -1] = 1.0
        expected = expectation(kind, real.tolist(), u[row, :, :length].tolist())
        torch.testing.assert_close(weights[row, :, :length], torch.tensor(expected), atol=1e-6, rtol=0)
    assert (exhausted == "last") == (weights.sum(-1) > 1 - 1e-5).all()


def test_sharp_probabilities_read_alike_soft_and_hard(kind: Kind, exhausted: str, batch, shake):
    attention = build(kind, shake, exhausted=exhausted)
    with torch.no_grad():
        attention.energy.gain.fill_(1e6)
    memory = attention.remember(batch.values, batch.mask)
    p, _ = energies(attention, memory, batch.queries)
    assert ((p == 0) | (p == 1)).all() and p.any() and not p.all()
    for soft, hard in zip(attention(batch.queries, memory), attention(batch.queries, memory, hard=True), strict=True):
        torch.testing.assert_close(soft, hard, atol=1e-6, rtol=0)


def test_soft_weights_of_mocha_are_equation_13(energy, batch, shake):
    attention = build(Kind(MoChA, {"chunk_size": 3}), shake, energy, mass_preservation=False)
    memory = attention.remember(batch.values, batch.mask)
    _, weights = attention(batch.queries, memory)
    p, u = energies(attention, memory, batch.queries)
    start = torch.eye(11)[:1].expand(8, -1)
    truth = oracle.chunkwise_attention(oracle.expected_alignment(p * batch.mask[:, None], start), u, 3)
    torch.testing.assert_close(weights.double(), truth, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("attention", "expected"),
    [
        # exp(u) is 1, 3, 4 at every step; the head stops at 1, stays there, and moves on to 2.
        (MAtChA, [[1 / 4, 3 / 4, 0], [0, 1, 0], [0, 3 / 7, 4 / 7]]),
        (MILk, [[1 / 4, 3 / 4, 0], [1 / 4, 3 / 4, 0], [1 / 8, 3 / 8, 4 / 8]]),
    ],
)
def test_worked_out_by_hand(attention: type[Attention], expected: list[list[float]]):
    module = attention(attention.Config(energy_bias=0.0), 3, 3).eval()
    with torch.no_grad():
        for scaled in (module.energy, module.chunk_energy):
            scaled.gain.fill_(1.0)
        # A query says where to stop, whatever it reads with is the same.
        module.energy.energy.project.weight.copy_(torch.eye(3))
        module.chunk_energy.energy.project.weight.copy_(torch.tensor([[0.0, 3.0, 4.0]] * 3).clamp(min=1).log() / 100)
    memory = module.remember(torch.eye(3)[None], torch.ones(1, 3, dtype=torch.bool))
    queries = 100 * torch.tensor([[-0.5, 1.0, 0.5], [-0.5, 1.0, 0.5], [-0.5, -0.5, 2.0]])
    for hard in (False, True):
        _, weights = module(queries[None], memory, hard=hard)
        torch.testing.assert_close(weights[0], torch.tensor(expected), atol=1e-5, rtol=0)


def test_stopping_and_reading_have_energies_of_their_own(kind: Kind, energy):
    attention = kind.attention(kind.attention.Config(energy=energy), SIZE, SIZE)
    assert attention.chunk_energy.offset is None
    shared = {id(p) for p in attention.energy.parameters()} & {id(p) for p in attention.chunk_energy.parameters()}
    assert not shared


def test_the_width_is_that_of_a_chunk_where_it_is_fixed():
    assert MoChA(MoChAConfig(chunk_size=5), SIZE, SIZE).width == 5
    assert all(kind(kind.Config(), SIZE, SIZE).width is None for kind in (MAtChA, MILk))


def test_one_position_is_read_for_certain(kind: Kind, shake):
    attention = build(kind, shake)
    memory = attention.remember(torch.ones(1, 1, SIZE), torch.ones(1, 1, dtype=torch.bool))
    for hard in (False, True):
        _, weights = attention(torch.ones(1, 3, SIZE), memory, hard=hard)
        torch.testing.assert_close(weights, torch.ones(1, 3, 1))


def test_a_hard_step_of_matcha_takes_no_chunk_but_the_one_it_reads(batch, shake, monkeypatch: pytest.MonkeyPatch):
    """Time O(S), where the expectation over all chunks takes O(S^2)."""
    attention = build(Kind(MAtChA, {}), shake)
    monkeypatch.setattr("mt.models.attention.mocha.adaptive_chunkwise_attention", None)
    memory = attention.remember(batch.values, batch.mask)
    attention.step(batch.queries[:, 0], memory, attention.start(memory), hard=True)
    with pytest.raises(TypeError, match="not callable"):
        attention.step(batch.queries[:, 0], memory, attention.start(memory))
