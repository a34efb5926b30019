"""Each decoder is its equations, step by step with cells of PyTorch's. Where no context is fed, each layer runs once
over all target steps."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from mt.models.attention import build_attention
from mt.models.attention.base import Memory
from mt.models.attention.global_ import DotAttentionConfig
from mt.models.decoders import Decoder, DecoderParts
from mt.models.decoders.bahdanau import Bahdanau
from mt.models.decoders.gnmt import GNMT
from mt.models.decoders.luong import Luong
from mt.models.decoders.ssru import SSRU
from mt.models.encoders import Encoded
from mt.models.frontends.embedding import Embedding, EmbeddingConfig

H = 5  # of values, and of queries
E = 4
SIZES = pytest.mark.parametrize("size", [H, E], ids=["own size", "projected"])


@pytest.fixture
def encoded() -> Encoded:
    """One source is shorter than the other."""
    values = torch.randn(2, 3, H, generator=torch.Generator().manual_seed(1))
    return Encoded(values, torch.tensor([[True, True, True], [True, True, False]]), values[:, 0])


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(1, 11, (2, 4), generator=torch.Generator().manual_seed(2))


def build(kind: Any, shake: Any, size: int = E, **options: Any) -> Any:
    embedding = Embedding(EmbeddingConfig(embedding_dim=size), 11)
    parts = DecoderParts(embedding, build_attention(DotAttentionConfig(scaled=False), H, H), H, H, tied=False)
    return shake(kind(kind.Config(hidden_size=H, readout_size=size, **options), parts), scale=0.6)


def attend(query: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
    """Weights and context."""
    energies = torch.einsum("bh,bsh->bs", query, memory.keys[0])
    weights = energies.masked_fill(~memory.mask, -torch.inf).softmax(-1)
    return weights, torch.einsum("bs,bsv->bv", weights, memory.values)


def assert_equal(decoder: Decoder, tokens: Tensor, memory: Memory, steps: Iterator[tuple[Tensor, Tensor]]) -> None:
    """steps: readout and weights of each by the equations."""
    readouts, weights = zip(*steps, strict=True)
    actual, attended = decoder(tokens, memory)
    torch.testing.assert_close(actual, torch.stack(readouts, 1), atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(attended.weights, torch.stack(weights, 1), atol=1e-6, rtol=1e-5)


def first_state(decoder: Decoder, encoded: Encoded, init_hidden: str, tensors: int) -> tuple[Tensor, ...]:
    assert decoder.needs_full_source == (init_hidden == "final_state")
    if init_hidden == "zeros":
        return (torch.zeros(2, H),) * tensors
    return torch.tanh(decoder.recurrence.bridge(encoded.final_state)).chunk(tensors, -1)


@pytest.mark.parametrize("input_feeding", [False, True])
@pytest.mark.parametrize("init_hidden", ["final_state", "zeros"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_luong(cell: str, input_feeding: bool, init_hidden: str, encoded, tokens, shake):
    """Luong et al. 2015, sections 3 and 3.3."""
    decoder = build(Luong, shake, input_feeding=input_feeding, init_hidden=init_hidden, cell=cell)
    memory = decoder.init_memory(encoded)

    def steps() -> Iterator[tuple[Tensor, Tensor]]:
        state = first_state(decoder, encoded, init_hidden, 2 if cell == "lstm" else 1)
        (parameters,) = decoder.recurrence.cells.all_weights
        feed = torch.zeros(2, E)
        for vectors in decoder.embedding(tokens).unbind(1):
            fed = torch.cat((vectors, feed), -1) if input_feeding else vectors
            if cell == "lstm":
                state = torch.lstm_cell(fed, state, *parameters)
            else:
                state = (torch.gru_cell(fed, state[0], *parameters),)
            weights, context = attend(state[0], memory)
            feed = torch.tanh(torch.cat((context, state[0]), -1) @ decoder.combine.weight.T)
            yield feed, weights

    assert_equal(decoder, tokens, memory, steps())


@pytest.mark.parametrize("gate", [False, True])
@pytest.mark.parametrize("init_hidden", ["final_state", "zeros"])
def test_bahdanau(init_hidden: str, gate: bool, encoded, tokens, shake):
    """Bahdanau et al. 2015, sections 3.1 and A.2.2; the gate: Xu et al. 2015, section 4.2.1."""
    decoder = build(Bahdanau, shake, init_hidden=init_hidden, gate=gate)
    memory = decoder.init_memory(encoded)

    def steps() -> Iterator[tuple[Tensor, Tensor]]:
        (state,) = first_state(decoder, encoded, init_hidden, 1)
        (parameters,) = decoder.recurrence.cells.all_weights
        for y in decoder.embedding(tokens).unbind(1):
            # The state before is the query, and gives beta.
            weights, context = attend(state, memory)
            context = torch.sigmoid(decoder.gate(state)) * context if gate else context
            state = torch.gru_cell(torch.cat((y, context), -1), state, *parameters)
            joint = torch.cat((state, y, context), -1) @ decoder.readout.weight.T + decoder.readout.bias
            yield torch.maximum(joint[:, ::2], joint[:, 1::2]), weights

    assert_equal(decoder, tokens, memory, steps())


def test_of_several_layers_the_highest_is_the_query_and_the_lowest_gets_the_context(encoded, tokens, shake):
    decoder = build(Bahdanau, shake, num_layers=2, cell="lstm")
    memory = decoder.init_memory(encoded)
    state = decoder.init_state(memory)
    prediction = decoder.step(tokens[:, 0], memory, state)
    weights, context = attend(state.recurrent[0][:, 1], memory)
    torch.testing.assert_close(prediction.attended.weights, weights)
    fed = torch.cat((decoder.embedding(tokens[:, 0]), context), -1)
    _, after = decoder.recurrence.cells(fed[:, None], state.recurrent)
    torch.testing.assert_close(prediction.state.recurrent, after)


@SIZES
def test_gnmt(size: int, encoded, tokens, shake) -> None:
    """Wu et al. 2016, sections 3 and 3.1: the first layer makes the query, and the others get the context."""
    decoder = build(GNMT, shake, size, num_layers=3)
    memory = decoder.init_memory(encoded)
    layers = [decoder.recurrence, *decoder.above]
    states = [tuple(part[:, 0] for part in layer.init_state(memory.final_state)) for layer in layers]

    def cell(number: int, given: Tensor) -> Tensor:
        states[number] = torch.lstm_cell(given, states[number], *layers[number].cells.all_weights[0])
        return states[number][0]

    def steps() -> Iterator[tuple[Tensor, Tensor]]:
        for vectors in decoder.embedding(tokens).unbind(1):
            first = cell(0, vectors)
            weights, context = attend(first, memory)
            second = cell(1, torch.cat((first, context), -1))
            yield decoder.readout(second + cell(2, torch.cat((second, context), -1))), weights

    assert_equal(decoder, tokens, memory, steps())


def normalized(x: Tensor, norm: torch.nn.LayerNorm) -> Tensor:
    return layer_norm(x, (H,), norm.weight, norm.bias)


@SIZES
def test_ssru(size: int, encoded, tokens, shake) -> None:
    """Each block's recurrence and feed-forward network, with the attention after the first recurrence."""
    decoder = build(SSRU, shake, size, num_layers=3, feed_forward_size=7, init_hidden="final_state")
    memory = decoder.init_memory(encoded)
    cells = [*torch.tanh(decoder.recurrence.bridge(memory.final_state)).chunk(3, -1)]
    layers = [decoder.recurrence.layer, *decoder.above]

    def recurrence(number: int, x: Tensor) -> Tensor:
        unit = layers[number].recurrence
        candidate, gate = (normalized(x, layers[number].norm) @ unit.project.weight.T).chunk(2, -1)
        f = torch.sigmoid(gate + unit.forget_bias)
        cells[number] = f * cells[number] + (1 - f) * candidate
        return x + cells[number].clamp(min=0)

    def steps() -> Iterator[tuple[Tensor, Tensor]]:
        for vectors in decoder.embedding(tokens).unbind(1):
            x = recurrence(0, decoder.recurrence.project(vectors))
            weights, context = attend(normalized(x, decoder.query_norm), memory)
            x = decoder.feed_forward[0](x + context @ decoder.join.weight.T)
            for number in (1, 2):
                x = decoder.feed_forward[number](recurrence(number, x))
            yield decoder.readout(normalized(x, decoder.norm)), weights

    assert_equal(decoder, tokens, memory, steps())
