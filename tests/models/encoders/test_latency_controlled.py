"""The latency-controlled BiLSTM beside the recurrence as a loop over positions, and beside a BiLSTM."""

import numpy as np
import pytest
import torch
from torch import nn

from mt.models.encoders.latency_controlled import LCBiLSTM, LCBiLSTMConfig


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
