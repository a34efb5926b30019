"""The latency-controlled BiLSTM beside the recurrence as a loop over positions, and beside a BiLSTM."""

import numpy as np
import pytest
import torch
from torch import nn

from mt.device import autocast
from mt.models.encoders.latency_controlled import LCBiLSTM, LCBiLSTMConfig
from mt.models.encoders.recurrent import BiLSTM, BiLSTMConfig


def step(cells: nn.LSTM, x: np.ndarray, state: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Hochreiter & Schmidhuber's cell with forget gates, in float64; torch's order of gates is i, f, g, o."""
    w, u, b, c = (p.detach().double().numpy() for p in cells.parameters())
    hidden, cell = state
    i, f, g, o = np.split(w @ x + u @ hidden + b + c, 4)
    i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
    cell = f * cell + i * np.tanh(g)
    return o * np.tanh(cell), cell


def literal(encoder: LCBiLSTM, source: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and final state of one source [S, E], block after block as Zhang et al. draw it."""
    size = encoder.value_size // 2
    layers = len(encoder.layers)
    zeros = np.zeros(size), np.zeros(size)
    carried = [zeros] * layers
    values = []
    for begin in range(0, len(source), encoder.chunk_size):
        block = list(source[begin : begin + encoder.chunk_size + encoder.look_ahead])
        for layer in range(layers):
            right = []
            state = carried[layer]
            for j, x in enumerate(block):
                state = step(encoder.layers[layer].rightward, x, state)
                right.append(state[0])
                if j == encoder.chunk_size - 1:
                    carried[layer] = state
            left = []
            state = zeros
            for x in reversed(block):
                state = step(encoder.layers[layer].leftward, x, state)
                left.insert(0, state[0])
            block = [np.concatenate(both) for both in zip(right, left, strict=True)]
        values += block[: encoder.chunk_size]
    return np.array(values), np.concatenate((values[-1][:size], values[0][size:]))


@pytest.mark.parametrize(("chunk_size", "look_ahead"), [(4, 2), (3, 0), (1, 1), (2, 5), (9, 0), (8, 1), (40, 40)])
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_it_equals_the_loop_over_positions(chunk_size: int, look_ahead: int, num_layers: int, vectors, mask, shake):
    options = {"chunk_size": chunk_size, "look_ahead": look_ahead, "num_layers": num_layers}
    encoder = shake(LCBiLSTM(LCBiLSTMConfig(hidden_size=6, **options), 6), scale=0.4)
    encoded = encoder(vectors, mask)
    for row, length in enumerate(mask.sum(1).tolist()):
        values, final_state = literal(encoder, vectors[row, :length].double().numpy())
        np.testing.assert_allclose(encoded.values[row, :length].detach(), values, atol=2e-6)
        np.testing.assert_allclose(encoded.final_state[row].detach(), final_state, atol=2e-6)


@pytest.mark.parametrize(("chunk_size", "look_ahead"), [(9, 0), (5, 4), (100, 7)])
def test_a_source_within_a_block_is_encoded_as_by_a_bilstm(chunk_size: int, look_ahead: int, vectors, mask, shake):
    """Of a block whose chunk is shorter, the first chunk is."""
    config = LCBiLSTMConfig(hidden_size=6, num_layers=2, chunk_size=chunk_size, look_ahead=look_ahead)
    ours = shake(LCBiLSTM(config, 6), scale=0.4)
    theirs = BiLSTM(BiLSTMConfig(hidden_size=6, num_layers=2), 6).eval()
    weights = {}
    for index, layer in enumerate(ours.layers):
        for cells, suffix in ((layer.rightward, ""), (layer.leftward, "_reverse")):
            weights |= {f"{name.removesuffix('0')}{index}{suffix}": value for name, value in cells.state_dict().items()}
    theirs.cells.load_state_dict(weights)
    one = ours(vectors, mask)
    other = theirs(vectors, mask)
    torch.testing.assert_close(one.values[:, :chunk_size], other.values[:, :chunk_size], atol=2e-6, rtol=1e-5)
    if chunk_size >= 9:
        torch.testing.assert_close(one.final_state, other.final_state, atol=2e-6, rtol=1e-5)


def test_gradients_are_those_of_the_function(vectors, mask, shake):
    encoder = shake(LCBiLSTM(LCBiLSTMConfig(hidden_size=4, num_layers=2, chunk_size=2, look_ahead=2), 6)).double()
    inputs = vectors[:1, :5].double().requires_grad_()
    whole = mask[:1, :5]
    assert torch.autograd.gradcheck(lambda x: (encoder(x, whole).values, encoder(x, whole).final_state), inputs)


def test_no_more_is_computed_than_there_is(shake):
    """A chunk that is larger than the source costs what the source costs, and an endless source keeps one block."""
    encoder = shake(LCBiLSTM(LCBiLSTMConfig(hidden_size=4, chunk_size=10**6, look_ahead=10**6), 6))
    assert encoder(torch.ones(1, 3, 6), torch.ones(1, 3, dtype=torch.bool)).values.shape == (1, 3, 4)
    encoder = shake(LCBiLSTM(LCBiLSTMConfig(hidden_size=4), 6))
    state = None
    for _ in range(50):
        one = torch.ones(1, 1, 6), torch.ones(1, 1, dtype=torch.bool)
        encoded, state = encoder.extend(*one, state, torch.tensor([False]))
        assert encoded.values.shape[1] in (0, 4)
        assert sum(part.numel() for part in state) < 80


def test_halves_of_precision_are_computed(vectors, mask, shake):
    encoder = shake(LCBiLSTM(LCBiLSTMConfig(hidden_size=4, num_layers=2), 6))
    with autocast(torch.device("cpu"), "bf16"):
        values = encoder(vectors, mask).values
    torch.testing.assert_close(values.float(), encoder(vectors, mask).values, atol=0.02, rtol=0)


def test_more_layers_look_no_further():
    for num_layers in (1, 4):
        encoder = LCBiLSTM(LCBiLSTMConfig(hidden_size=4, num_layers=num_layers, chunk_size=3, look_ahead=2), 6)
        assert encoder.read_for(torch.arange(9), torch.tensor([7])).tolist() == [5, 5, 5, *[7] * 6]
