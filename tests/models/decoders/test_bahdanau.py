"""Bahdanau's decoder is its equations (Bahdanau et al. 2015, sections 3.1 and A.2.2), step by step."""

import pytest
import torch

from mt.models.attention.global_ import Dot, DotAttentionConfig
from mt.models.decoders import DecoderParts
from mt.models.decoders.bahdanau import Bahdanau, BahdanauConfig
from mt.models.frontends.embedding import Embedding, EmbeddingConfig

H = 5


def build(**options) -> Bahdanau:
    parts = DecoderParts(
        Embedding(EmbeddingConfig(embedding_dim=3), 11), Dot(DotAttentionConfig(scaled=False), H, H), H, H, tied=False
    )
    return Bahdanau(BahdanauConfig(hidden_size=H, readout_size=4, **options), parts)


@pytest.mark.parametrize("gate", [False, True])
@pytest.mark.parametrize("init_hidden", ["final_state", "zeros"])
def test_equations(init_hidden: str, gate: bool, encoded, tokens, attend, shake):
    decoder = shake(build(init_hidden=init_hidden, gate=gate))
    memory = decoder.init_memory(encoded)
    bridge = decoder.recurrence.bridge
    state = torch.zeros(2, H) if bridge is None else torch.tanh(bridge(encoded.final_state))
    (parameters,) = decoder.recurrence.cells.all_weights
    readouts = []
    weights = []
    for y in decoder.embedding(tokens).unbind(1):
        # The state before is the query, and gives beta.
        of_step, context = attend(state, memory)
        context = torch.sigmoid(decoder.gate(state)) * context if gate else context
        state = torch.gru_cell(torch.cat((y, context), -1), state, *parameters)
        joint = torch.cat((state, y, context), -1) @ decoder.readout.weight.T + decoder.readout.bias
        readouts.append(torch.maximum(joint[:, ::2], joint[:, 1::2]))
        weights.append(of_step)
    actual, attended = decoder(tokens, memory)
    torch.testing.assert_close(actual, torch.stack(readouts, 1), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(attended.weights, torch.stack(weights, 1), atol=1e-6, rtol=1e-5)
    assert decoder.needs_full_source == (init_hidden == "final_state")


def test_of_several_layers_the_highest_is_the_query_and_the_lowest_gets_the_context(encoded, tokens, attend, shake):
    decoder = shake(build(num_layers=2, cell="lstm"))
    memory = decoder.init_memory(encoded)
    state = decoder.init_state(memory)
    prediction = decoder.step(tokens[:, 0], memory, state)
    weights, context = attend(state.recurrent[0][:, 1], memory)
    torch.testing.assert_close(prediction.attended.weights, weights)
    fed = torch.cat((decoder.embedding(tokens[:, 0]), context), -1)
    _, after = decoder.recurrence.cells(fed[:, None], state.recurrent)
    torch.testing.assert_close(prediction.state.recurrent, after)
