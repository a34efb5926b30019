"""Hard attention in whole models: queries that wait for the source, and searches of long sources."""

import pytest
import torch
from torch import Tensor

from mt.models.attention.lookback import MAtChAConfig, MILkConfig
from mt.models.attention.mocha import MoChAConfig
from mt.models.attention.monotonic import MonotonicConfig
from mt.models.seq2seq import Seq2Seq
from tests.models.small import small
from tests.search.searches import greedy

VOCABULARY = 12
ATTENTIONS = [MonotonicConfig(), MoChAConfig(chunk_size=3), MAtChAConfig(), MILkConfig()]


@pytest.fixture(params=ATTENTIONS, ids=lambda config: config.name)
def attention(request):
    return request.param


@pytest.fixture
def build(attention, shake):
    def built(ending: float = 0.0) -> Seq2Seq:
        model = shake(small(20, VOCABULARY, attention=attention, decoder={"init_hidden": "zeros"}))
        with torch.no_grad():
            model.decoder.attention.energy.bias.fill_(-1.0)
            model.decoder.output.bias[3] += ending
        return model.requires_grad_(False)

    return built


def test_a_search_makes_nothing_as_long_as_the_source(build, attention, largest):
    """Of a source of 20,000 tokens; MILk's windows reach from its beginning to each stop."""
    model = build(ending=-100.0)
    length = 20_000
    source = torch.randint(4, 20, (1, length), generator=torch.Generator().manual_seed(3))
    memory = model.encode(source, torch.ones(1, length, dtype=torch.bool))
    kept: list[Tensor] = [*memory.keys, memory.values, memory.mask]

    class Verbs:
        def init_state(self, memory):
            return model.init_state(memory, hard=True)

        def step(self, tokens, memory, state):
            return model.step(tokens, memory, state, hard=True)

    with largest(*kept) as made:
        (result,) = greedy(Verbs(), memory, 1, max_lengths=torch.tensor([40]))
    assert len(result.tokens) == 40
    assert result.windows.stops.max() > 40 or attention.name != "monotonic"
    assert 0 < made.elements < length
    assert len(result.windows.weights) <= 40 * (int(result.windows.stops.max()) + 1)
