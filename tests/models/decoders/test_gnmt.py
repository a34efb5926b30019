"""GNMT's decoder is its equations, and all target steps need each layer once."""

import pytest
import torch
from torch import Tensor

from mt.models.attention.base import Memory
from mt.models.attention.global_ import Dot, DotAttentionConfig
from mt.models.decoders import DecoderParts
from mt.models.decoders.gnmt import GNMT, GNMTConfig
from mt.models.frontends.embedding import Embedding, EmbeddingConfig

H = 5
E = 6


@pytest.fixture(params=[H, E], ids=["own size", "projected"])
def decoder(request, shake) -> GNMT:
    attention = Dot(DotAttentionConfig(), H, H)
    parts = DecoderParts(Embedding(EmbeddingConfig(embedding_dim=E), 11), attention, H, H, tied=False)
    return shake(GNMT(GNMTConfig(hidden_size=H, readout_size=request.param, num_layers=3), parts))


@pytest.fixture
def memory(decoder: GNMT, encoded) -> Memory:
    return decoder.init_memory(encoded)


def test_the_first_layer_asks_and_the_others_get_the_context(decoder: GNMT, memory, tokens, attend) -> None:
    """Wu et al. 2016, sections 3 and 3.1, with cells of PyTorch's, step by step."""
    layers = [decoder.recurrence, *decoder.above]
    states = [tuple(part[:, 0] for part in layer.init_state(memory.final_state)) for layer in layers]

    def cell(number: int, given: Tensor) -> Tensor:
        states[number] = torch.lstm_cell(given, states[number], *layers[number].cells.all_weights[0])
        return states[number][0]

    expected = []
    for vectors in decoder.embedding(tokens).unbind(1):
        first = cell(0, vectors)
        _, context = attend(first, memory, decoder.attention.energy.gain)
        second = cell(1, torch.cat((first, context), -1))
        expected.append(decoder.readout(second + cell(2, torch.cat((second, context), -1))))
    readouts, _ = decoder(tokens, memory)
    torch.testing.assert_close(readouts, torch.stack(expected, 1), atol=1e-6, rtol=1e-5)


def test_each_layer_runs_once_over_all_target_steps(decoder: GNMT, memory: Memory, tokens: Tensor) -> None:
    lengths = []
    for layer in (decoder.recurrence, *decoder.above):
        layer.register_forward_hook(lambda module, given, _: lengths.append(given[0].shape[1]))
    decoder(tokens, memory)
    assert lengths == [tokens.shape[1]] * 3
