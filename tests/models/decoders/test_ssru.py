"""The decoder of SSRU is its equations, all target steps need each layer once, and its state does not grow."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from mt.models.attention.base import Memory
from mt.models.attention.global_ import General, GeneralAttentionConfig
from mt.models.decoders import DecoderParts
from mt.models.decoders.ssru import SSRU, SSRUConfig
from mt.models.frontends.embedding import Embedding, EmbeddingConfig

V = 5
H = 8
E = 6
LAYERS = 3


@pytest.fixture(params=[H, E], ids=["own size", "projected"])
def decoder(request, shake) -> SSRU:
    size = request.param
    attention = General(GeneralAttentionConfig(), H, V)
    parts = DecoderParts(Embedding(EmbeddingConfig(embedding_dim=size), 11), attention, V, V, tied=True)
    config = SSRUConfig(
        hidden_size=H,
        readout_size=size,
        num_layers=LAYERS,
        feed_forward_size=7,
        init_hidden="final_state",
    )
    return shake(SSRU(config, parts), scale=0.4)


@pytest.fixture
def memory(decoder: SSRU, encoded) -> Memory:
    return decoder.init_memory(encoded)


def test_the_equations(decoder: SSRU, memory: Memory, tokens: Tensor, attend) -> None:
    """Step by step: each block's recurrence and feed-forward network, the attention after the first recurrence."""
    bridge = decoder.recurrence.bridge
    cells = list(torch.tanh(bridge(memory.final_state)).unflatten(1, (LAYERS, H)).unbind(1))
    layers = [decoder.recurrence.layer, *decoder.above]

    def recurrence(number: int, x: Tensor) -> Tensor:
        norm = layers[number].norm
        unit = layers[number].recurrence
        candidate, gate = (layer_norm(x, (H,), norm.weight, norm.bias) @ unit.project.weight.T).chunk(2, -1)
        f = torch.sigmoid(gate + unit.forget_bias)
        cells[number] = f * cells[number] + (1 - f) * candidate
        return x + cells[number].clamp(min=0)

    expected = []
    for vectors in decoder.embedding(tokens).unbind(1):
        x = recurrence(0, decoder.recurrence.project(vectors))
        query = layer_norm(x, (H,), decoder.query_norm.weight, decoder.query_norm.bias)
        _, context = attend(query, memory, decoder.attention.energy.gain)
        x = decoder.feed_forward[0](x + context @ decoder.join.weight.T)
        for number in range(1, LAYERS):
            x = decoder.feed_forward[number](recurrence(number, x))
        expected.append(decoder.readout(layer_norm(x, (H,), decoder.norm.weight, decoder.norm.bias)))
    readouts, _ = decoder(tokens, memory)
    torch.testing.assert_close(readouts, torch.stack(expected, 1), atol=2e-6, rtol=1e-5)


def test_each_layer_runs_once_over_all_target_steps(decoder: SSRU, memory: Memory, tokens: Tensor) -> None:
    lengths = []
    for layer in (decoder.recurrence.layer, *decoder.above, *decoder.feed_forward, decoder.attention):
        layer.register_forward_hook(lambda module, given, _: lengths.append(given[0].shape[1]))
    decoder(tokens, memory)
    assert lengths == [tokens.shape[1]] * (2 * LAYERS + 1)


def test_what_the_attention_adds_is_dropped_as_other_residuals_are(decoder: SSRU, memory: Memory) -> None:
    """Nothing else is dropped here, and no other residual differs."""
    for module in decoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    inputs = torch.zeros(1, 400, H)
    contexts = torch.ones(1, 400, V)
    joined: list[Tensor] = []
    decoder.feed_forward[0].register_forward_pre_hook(lambda _, given: joined.append(given[0]))
    decoder.dropout.p = 0.25
    decoder.train()._upper_layers(inputs, contexts, tuple(torch.zeros(1, H) for _ in range(LAYERS - 1)))
    (added,) = joined
    whole = decoder.join(contexts)
    kept = added != 0
    assert 0.7 < kept.float().mean() < 0.8
    torch.testing.assert_close(added[kept], whole[kept] / 0.75)
    decoder.eval()._upper_layers(inputs, contexts, tuple(torch.zeros(1, H) for _ in range(LAYERS - 1)))
    assert torch.equal(joined[1], whole)
