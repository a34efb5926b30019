"""Hard attention in whole models: queries that wait for the source, and searches of long sources."""

import numpy as np
import pytest
import torch
from torch import Tensor

from mt.models.attention.matcha import MAtChAConfig
from mt.models.attention.milk import MILkConfig
from mt.models.attention.mocha import MoChAConfig
from mt.models.attention.monotonic import MonotonicConfig
from mt.models.config import ModelConfig
from mt.models.decoders.bahdanau import BahdanauConfig
from mt.models.decoders.luong import LuongConfig
from mt.models.encoders.recurrent import LSTMConfig
from mt.models.frontends.embedding import EmbeddingConfig
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig
from mt.step import NEEDS_MORE_SOURCE
from tests.decoding.decoded import decode_ids
from tests.search.searches import greedy

VOCABULARY = 12
SIZES = {"hidden_size": 8, "readout_size": 8, "init_hidden": "zeros"}
DECODERS = [LuongConfig(**SIZES), LuongConfig(**SIZES, input_feeding=True), BahdanauConfig(**SIZES, num_layers=2)]
ATTENTIONS = [MonotonicConfig(), MoChAConfig(chunk_size=3), MAtChAConfig(), MILkConfig()]


@pytest.fixture(params=ATTENTIONS, ids=lambda config: config.name)
def attention(request):
    return request.param


@pytest.fixture
def build(attention, shake):
    def built(decoder=DECODERS[0], ending: float = 0.0) -> Seq2Seq:
        parts = {"embedding": EmbeddingConfig(embedding_dim=8), "encoder": LSTMConfig(hidden_size=8)}
        model = shake(Seq2Seq(ModelConfig(decoder=decoder, attention=attention, **parts), 20, VOCABULARY))
        with torch.no_grad():
            model.decoder.attention.energy.bias.fill_(-1.0)
            model.decoder.output.bias[3] += ending
        return model.requires_grad_(False)

    return built


@pytest.mark.parametrize("decoder", DECODERS, ids=["luong", "input_feeding", "bahdanau"])
def test_a_query_waits_for_the_source(build, decoder):
    """Of a source that arrives position by position, trimmed, the answers are those of the whole."""
    model = build(decoder)
    length = 40
    source = torch.randint(4, 20, (1, length), generator=torch.Generator().manual_seed(2))
    mask = torch.ones(1, length, dtype=torch.bool)
    tokens = torch.arange(15) % (VOCABULARY - 4) + 4
    memory = model.encode(source, mask)
    state = model.init_state(memory, hard=True)
    expected = []
    for token in tokens:
        expected.append(model.step(token[None], memory, state, hard=True))
        state = expected[-1].state
    before = None
    query = None
    answers = []
    waits = 0
    for position in range(length):
        one = slice(position, position + 1)
        memory, encoder = model.extend(source[:, one], mask[:, one], torch.tensor([position == length - 1]), before)
        if query is None:
            query = model.decoder.make_query(tokens[:1], model.init_state(memory, hard=True))
        while len(answers) < len(tokens):
            attended = model.decoder.attend(query, memory, hard=True)
            query = query._replace(attention_state=attended.state)
            if int(attended.attended.stops) == NEEDS_MORE_SOURCE:
                waits += 1
                break
            answers.append(model.decoder.read_out(query, attended, memory))
            query = model.decoder.make_query(tokens[len(answers) % len(tokens)][None], answers[-1].state)
        memory = model.decoder.trim(memory, query.attention_state)
        before = memory, encoder
    assert waits > 5
    for ours, theirs in zip(answers, expected, strict=True):
        assert torch.equal(ours.attended.stops, theirs.attended.stops)
        torch.testing.assert_close(ours.logits, theirs.logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("search", [GreedyConfig(), BeamConfig(beam_size=3), OnlineConfig()], ids=lambda s: s.name)
def test_a_hypothesis_counts_its_energies(build, search):
    draw = torch.Generator().manual_seed(4)
    sources = [[*torch.randint(4, 20, (n,), generator=draw).tolist(), 3] for n in (40, 7, 1, 90)]
    decoded = decode_ids(build(), sources, search, vocab_size=VOCABULARY, precision="fp32")
    for source, (best, *_) in zip(sources, decoded, strict=True):
        assert 0 < best.windows.looked_at.sum() <= len(source) + len(best.tokens)
        assert best.windows.dense(len(source)).shape == (len(best.tokens), len(source))
        np.testing.assert_allclose(best.weights.sum(1), np.ones(len(best.tokens)), rtol=1e-5)


def test_a_search_makes_nothing_as_long_as_the_source(build, attention, largest):
    """Of a source of 20,000 tokens; MILk's windows reach from its beginning to each stop."""
    model = build(ending=-100.0)
    length = 20_000
    source = torch.randint(4, 20, (1, length), generator=torch.Generator().manual_seed(3))
    memory = model.encode(source, torch.ones(1, length, dtype=torch.bool))
    kept: list[Tensor] = [*memory.attention.keys, memory.attention.values, memory.attention.mask]

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
