"""The decoder's equations (Luong et al. 2015, sections 3 and 3.3) in scalar arithmetic, on numbers of one digit."""

import itertools
import math

import pytest
import torch

from mt.models.attention.global_ import Dot, DotAttentionConfig, General, GeneralAttentionConfig
from mt.models.decoders import DecoderParts
from mt.models.decoders.luong import Luong, LuongConfig
from mt.models.encoders import Encoded
from mt.models.frontends.embedding import Embedding, EmbeddingConfig

VECTORS = [0.0, -0.5, 0.8]
SOURCE = [0.4, -0.9]
FINAL_STATE = 0.6
# Weights of an LSTM's gates in, forget, cell, out; the first three also of a GRU's reset, update, candidate.
FROM_INPUT = [0.3, -0.2, 0.9, 0.5]
FROM_FEED = [0.7, 0.1, -0.6, 0.2]
FROM_STATE = [-0.4, 0.6, 0.2, 0.1]
BIAS = [0.1, 0.2, -0.3, 0.4]
BRIDGE_HIDDEN = 0.9
BRIDGE_CELL = -1.1
FROM_CONTEXT = 0.7
FROM_QUERY = -0.8
TO_LOGITS = [0.2, -0.7, 1.5]
LOGIT_BIAS = [0.0, 0.1, -0.1]


def build(*, input_feeding: bool, init_hidden: str, cell: str = "lstm") -> Luong:
    config = LuongConfig(hidden_size=1, readout_size=1, input_feeding=input_feeding, init_hidden=init_hidden, cell=cell)
    embedding = Embedding(EmbeddingConfig(embedding_dim=1), 3)
    attention = Dot(DotAttentionConfig(scaled=False), 1, 1)
    decoder = Luong(config, DecoderParts(embedding, attention, value_size=1, final_state_size=1, tied=False))
    columns = (FROM_INPUT, FROM_FEED) if input_feeding else (FROM_INPUT,)
    gates = 4 if cell == "lstm" else 3
    numbers = {
        "embedding.table.weight": [[x] for x in VECTORS],
        "recurrence.cells.weight_ih_l0": list(zip(*columns, strict=True))[:gates],
        "recurrence.cells.weight_hh_l0": [[x] for x in FROM_STATE[:gates]],
        "recurrence.cells.bias_ih_l0": BIAS[:gates],
        "recurrence.cells.bias_hh_l0": [0.0] * gates,
        "combine.weight": [[FROM_CONTEXT, FROM_QUERY]],
        "output.weight": [[x] for x in TO_LOGITS],
        "output.bias": LOGIT_BIAS,
    }
    if init_hidden == "final_state":
        bridge = [[BRIDGE_HIDDEN], [BRIDGE_CELL]] if cell == "lstm" else [[BRIDGE_HIDDEN]]
        numbers |= {"recurrence.bridge.weight": bridge, "recurrence.bridge.bias": [0.0] * len(bridge)}
    decoder.load_state_dict({name: torch.tensor(value) for name, value in numbers.items()})
    return decoder.eval()


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def lstm(fed: list[float], h: float, c: float) -> tuple[float, float]:
    """The state after; fed: what the gates get but from the state."""
    gates = [x + u * h for x, u in zip(fed, FROM_STATE, strict=True)]
    c = sigmoid(gates[1]) * c + sigmoid(gates[0]) * math.tanh(gates[2])
    return sigmoid(gates[3]) * math.tanh(c), c


def gru(fed: list[float], h: float, c: float) -> tuple[float, float]:
    reset, update = (sigmoid(fed[i] + FROM_STATE[i] * h) for i in (0, 1))
    return update * h + (1 - update) * math.tanh(fed[2] + reset * FROM_STATE[2] * h), c


def by_hand(
    tokens: list[int], *, input_feeding: bool, init_hidden: str, cell: str = "lstm"
) -> tuple[list[list[float]], list[list[float]]]:
    """Logits and weights of each step."""
    advance = {"lstm": lstm, "gru": gru}[cell]
    h = math.tanh(BRIDGE_HIDDEN * FINAL_STATE) if init_hidden == "final_state" else 0.0
    c = math.tanh(BRIDGE_CELL * FINAL_STATE) if init_hidden == "final_state" else 0.0
    feed = 0.0
    logits = []
    weights = []
    for token in tokens:
        fed = [
            w * VECTORS[token] + (f * feed if input_feeding else 0.0) + b
            for w, f, b in zip(FROM_INPUT, FROM_FEED, BIAS, strict=True)
        ]
        h, c = advance(fed, h, c)
        shares = [math.exp(h * s) for s in SOURCE]
        weights.append([share / sum(shares) for share in shares])
        context = sum(a * s for a, s in zip(weights[-1], SOURCE, strict=True))
        feed = math.tanh(FROM_CONTEXT * context + FROM_QUERY * h)
        logits.append([w * feed + b for w, b in zip(TO_LOGITS, LOGIT_BIAS, strict=True)])
    return logits, weights


@pytest.mark.parametrize("input_feeding", [False, True])
@pytest.mark.parametrize("init_hidden", ["final_state", "zeros"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_equations(cell: str, input_feeding: bool, init_hidden: str):
    decoder = build(input_feeding=input_feeding, init_hidden=init_hidden, cell=cell)
    values = torch.tensor([[[s] for s in SOURCE]])
    encoded = Encoded(values, values, torch.ones(1, 2, dtype=torch.bool), torch.tensor([[FINAL_STATE]]))
    memory = decoder.init_memory(encoded)
    readouts, attended = decoder(torch.tensor([[2, 1, 1]]), memory)
    weights = attended.weights
    expected_logits, expected_weights = by_hand(
        [2, 1, 1], input_feeding=input_feeding, init_hidden=init_hidden, cell=cell
    )
    torch.testing.assert_close(decoder.output(readouts)[0], torch.tensor(expected_logits))
    torch.testing.assert_close(weights[0], torch.tensor(expected_weights))
    assert decoder.needs_full_source == (init_hidden == "final_state")


def test_the_numbers_tell_the_variants_apart():
    variants = [
        by_hand([2, 1, 1], input_feeding=feeding, init_hidden=init_hidden, cell=cell)[0][2]
        for feeding, init_hidden, cell in itertools.product((False, True), ("final_state", "zeros"), ("lstm", "gru"))
    ]
    assert len({round(logits[2], 3) for logits in variants}) == 8


def test_a_zero_start_does_not_see_the_source():
    decoder = build(input_feeding=True, init_hidden="zeros")
    values = torch.ones(2, 3, 1)
    final_state = torch.tensor([[5.0], [-5.0]])
    memory = decoder.init_memory(Encoded(values, values, torch.ones(2, 3) > 0, final_state))
    state = decoder.init_state(memory)
    assert not any(part.any() for part in state.recurrent)


def test_tying_shares_the_table():
    config = LuongConfig(hidden_size=4, readout_size=3)
    attention = General(GeneralAttentionConfig(), 4, 4)
    decoders = [
        Luong(config, DecoderParts(Embedding(EmbeddingConfig(embedding_dim=3), 9), attention, 4, 4, tied=tied))
        for tied in (True, False)
    ]
    assert [decoder.output.weight is decoder.embedding.table.weight for decoder in decoders] == [True, False]
    tied, free = (sum(p.numel() for p in decoder.parameters()) for decoder in decoders)
    assert free - tied == 9 * 3
