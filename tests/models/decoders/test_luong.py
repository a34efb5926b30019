"""Luong's decoder is its equations (Luong et al. 2015, sections 3 and 3.3), with cells of PyTorch's, step by step."""

import pytest
import torch

from mt.models.attention.global_ import Dot, DotAttentionConfig
from mt.models.decoders import DecoderParts
from mt.models.decoders.luong import Luong, LuongConfig
from mt.models.frontends.embedding import Embedding, EmbeddingConfig

H = 5
F = 4


def build(tied: bool = False, **options) -> Luong:
    embedding = Embedding(EmbeddingConfig(embedding_dim=F), 11)
    parts = DecoderParts(embedding, Dot(DotAttentionConfig(scaled=False), H, H), H, H, tied=tied)
    return Luong(LuongConfig(hidden_size=H, readout_size=F, **options), parts)


@pytest.mark.parametrize("input_feeding", [False, True])
@pytest.mark.parametrize("init_hidden", ["final_state", "zeros"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_equations(cell: str, input_feeding: bool, init_hidden: str, encoded, tokens, attend, shake):
    decoder = shake(build(input_feeding=input_feeding, init_hidden=init_hidden, cell=cell))
    memory = decoder.init_memory(encoded)
    state = [torch.zeros(2, H)] * (2 if cell == "lstm" else 1)
    if init_hidden == "final_state":
        state = torch.tanh(decoder.recurrence.bridge(encoded.final_state)).chunk(len(state), -1)
    (parameters,) = decoder.recurrence.cells.all_weights
    feed = torch.zeros(2, F)
    readouts = []
    weights = []
    for vectors in decoder.embedding(tokens).unbind(1):
        fed = torch.cat((vectors, feed), -1) if input_feeding else vectors
        if cell == "lstm":
            state = torch.lstm_cell(fed, state, *parameters)
        else:
            state = (torch.gru_cell(fed, state[0], *parameters),)
        of_step, context = attend(state[0], memory)
        feed = torch.tanh(torch.cat((context, state[0]), -1) @ decoder.combine.weight.T)
        weights.append(of_step)
        readouts.append(feed)
    actual, attended = decoder(tokens, memory)
    torch.testing.assert_close(actual, torch.stack(readouts, 1), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(attended.weights, torch.stack(weights, 1), atol=1e-6, rtol=1e-5)
    assert decoder.needs_full_source == (init_hidden == "final_state")


def test_a_zero_start_does_not_see_the_source(encoded, shake):
    decoder = shake(build(input_feeding=True, init_hidden="zeros"))
    state = decoder.init_state(decoder.init_memory(encoded))
    assert not any(part.any() for part in state.recurrent)


def test_tying_shares_the_table():
    tied, free = build(True), build(False)
    assert [each.output.weight is each.embedding.table.weight for each in (tied, free)] == [True, False]
    assert sum(p.numel() for p in free.parameters()) - sum(p.numel() for p in tied.parameters()) == 11 * F
