import math

import pytest
import torch

from mt.models.attention.energy import ConcatConfig, EnergyConfig, GeneralConfig
from mt.models.attention.mocha import MoChA, MoChAConfig
from mt.ops import oracle

SIZE = 6


@pytest.fixture(params=[GeneralConfig(), ConcatConfig(size=5)], ids=["general", "concat"])
def energy(request) -> EnergyConfig:
    return request.param


@pytest.mark.parametrize("width", [2, 3, 20])
def test_a_hard_chunk_is_the_softmax_of_the_window_that_ends_at_the_stop(energy, width: int, batch, shake):
    attention = shake(MoChA(MoChAConfig(energy=energy, width=width, exhausted="zeros"), SIZE, SIZE))
    memory, stopped = attention.remember(batch.values, batch.mask), 0
    chunk_energies = attention.chunk_energy(batch.queries, memory.keys[1])
    state = attention.start(memory)
    for i, query in enumerate(batch.queries.unbind(1)):
        read = attention.step(query, memory, state, hard=True)
        state = read.state
        for row, stop in enumerate(read.stops.tolist()):
            expected = torch.zeros(11)
            if stop < 11:
                stopped += 1
                first = max(0, stop - width + 1)
                shares = [math.exp(u) for u in chunk_energies[row, i, first : stop + 1].tolist()]
                expected[first : stop + 1] = torch.tensor(shares) / sum(shares)
            torch.testing.assert_close(read.weights[row], expected, atol=1e-6, rtol=0)
    assert stopped > 15


def test_soft_weights_are_equation_13(energy, batch, shake):
    attention = shake(MoChA(MoChAConfig(energy=energy, width=3, exhausted="zeros"), SIZE, SIZE))
    memory = attention.remember(batch.values, batch.mask)
    _, weights = attention(batch.queries, memory)
    p = torch.sigmoid(attention.energy(batch.queries, memory.keys[0])) * batch.mask[:, None]
    start = torch.eye(11)[:1].expand(8, -1)
    truth = oracle.spread(oracle.expected_alignment(p, start), attention.chunk_energy(batch.queries, memory.keys[1]), 3)
    torch.testing.assert_close(weights.double(), truth, atol=1e-6, rtol=0)


def test_stopping_and_reading_have_energies_of_their_own(energy):
    attention = MoChA(MoChAConfig(energy=energy), SIZE, SIZE)
    assert attention.chunk_energy.offset is None
    shared = {id(p) for p in attention.energy.parameters()} & {id(p) for p in attention.chunk_energy.parameters()}
    assert not shared
    assert attention.width == 4
