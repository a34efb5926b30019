"""The equations of Bahdanau et al. 2015, sections 3.1 and A.2.2, in scalar arithmetic, on numbers of one digit."""

import math

import pytest
import torch

from mt.models.attention.global_ import Dot, DotAttentionConfig
from mt.models.decoders import DecoderParts
from mt.models.decoders.bahdanau import Bahdanau, BahdanauConfig
from mt.models.encoders import Encoded
from mt.models.frontends.embedding import Embedding, EmbeddingConfig

VECTORS = [0.0, -0.5, 0.8]
SOURCE = [0.4, -0.9]
FINAL_STATE = 0.6
BRIDGE = 0.9
# Weights of reset, update, candidate.
FROM_INPUT = [0.3, -0.2, 0.9]
FROM_CONTEXT = [0.7, 0.1, -0.6]
FROM_STATE = [-0.4, 0.6, 0.2]
BIAS = [0.1, 0.2, -0.3]
# Of each of the two that maxout chooses from: the state's, the token's and the context's weight, and the bias.
READOUT = [(0.5, 0.9, -0.7, 0.1), (-0.8, -0.6, 0.6, 0.2)]
TO_LOGITS = [0.2, -0.7, 1.5]
LOGIT_BIAS = [0.0, 0.1, -0.1]


# Of beta: the state's weight and the bias.
GATE = (1.7, -0.4)


def build(init_hidden: str, gate: bool) -> Bahdanau:
    config = BahdanauConfig(hidden_size=1, readout_size=1, init_hidden=init_hidden, gate=gate)
    attention = Dot(DotAttentionConfig(scaled=False), 1, 1)
    embedding = Embedding(EmbeddingConfig(embedding_dim=1), 3)
    decoder = Bahdanau(config, DecoderParts(embedding, attention, value_size=1, final_state_size=1, tied=False))
    numbers = {
        "embedding.table.weight": [[x] for x in VECTORS],
        "recurrence.cells.weight_ih_l0": list(zip(FROM_INPUT, FROM_CONTEXT, strict=True)),
        "recurrence.cells.weight_hh_l0": [[x] for x in FROM_STATE],
        "recurrence.cells.bias_ih_l0": BIAS,
        "recurrence.cells.bias_hh_l0": [0.0] * 3,
        "readout.weight": [row[:3] for row in READOUT],
        "readout.bias": [row[3] for row in READOUT],
        "output.weight": [[x] for x in TO_LOGITS],
        "output.bias": LOGIT_BIAS,
    }
    if gate:
        numbers |= {"gate.weight": [[GATE[0]]], "gate.bias": [GATE[1]]}
    if init_hidden == "final_state":
        numbers |= {"recurrence.bridge.weight": [[BRIDGE]], "recurrence.bridge.bias": [0.0]}
    decoder.load_state_dict({name: torch.tensor(value) for name, value in numbers.items()})
    return decoder.eval()


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def by_hand(tokens: list[int], init_hidden: str, gate: bool) -> tuple[list[list[float]], list[list[float]], list[int]]:
    """Logits and weights of each step, and which of the two maxout chose."""
    s = math.tanh(BRIDGE * FINAL_STATE) if init_hidden == "final_state" else 0.0
    logits = []
    weights = []
    chosen = []
    for token in tokens:
        # The state before is the query.
        shares = [math.exp(s * h) for h in SOURCE]
        weights.append([share / sum(shares) for share in shares])
        context = sum(a * h for a, h in zip(weights[-1], SOURCE, strict=True))
        context *= sigmoid(GATE[0] * s + GATE[1]) if gate else 1
        y = VECTORS[token]
        fed = [w * y + c * context + b for w, c, b in zip(FROM_INPUT, FROM_CONTEXT, BIAS, strict=True)]
        reset, update = (sigmoid(fed[i] + FROM_STATE[i] * s) for i in (0, 1))
        candidate = math.tanh(fed[2] + reset * FROM_STATE[2] * s)
        s = update * s + (1 - update) * candidate
        pair = [state * s + word * y + seen * context + bias for state, word, seen, bias in READOUT]
        chosen.append(pair.index(max(pair)))
        logits.append([w * max(pair) + b for w, b in zip(TO_LOGITS, LOGIT_BIAS, strict=True)])
    return logits, weights, chosen


@pytest.mark.parametrize("gate", [False, True])
@pytest.mark.parametrize("init_hidden", ["final_state", "zeros"])
def test_equations(init_hidden: str, gate: bool):
    decoder = build(init_hidden, gate)
    values = torch.tensor([[[h] for h in SOURCE]])
    encoded = Encoded(values, values, torch.ones(1, 2, dtype=torch.bool), torch.tensor([[FINAL_STATE]]))
    memory = decoder.init_memory(encoded)
    readouts, attended = decoder(torch.tensor([[2, 1, 1]]), memory)
    logits, weights, chosen = by_hand([2, 1, 1], init_hidden, gate)
    assert set(chosen) == {0, 1}, "maxout must choose either"
    torch.testing.assert_close(decoder.output(readouts)[0], torch.tensor(logits))
    torch.testing.assert_close(attended.weights[0], torch.tensor(weights))
    assert decoder.needs_full_source == (init_hidden == "final_state")


def test_of_several_layers_the_highest_is_the_query_and_the_lowest_gets_the_context(shake):
    attention = Dot(DotAttentionConfig(scaled=False), 4, 4)
    config = BahdanauConfig(hidden_size=4, readout_size=3, num_layers=2, cell="lstm")
    embedding = Embedding(EmbeddingConfig(embedding_dim=3), 9)
    decoder = shake(Bahdanau(config, DecoderParts(embedding, attention, 4, 2, tied=False)))
    values = torch.randn(2, 5, 4)
    memory = decoder.init_memory(Encoded(values, values, torch.ones(2, 5, dtype=torch.bool), torch.randn(2, 2)))
    state = decoder.init_state(memory)
    prediction = decoder.step(torch.tensor([4, 5]), memory, state)
    attended = attention.step(state.recurrent[0][:, 1], memory.attention, state.attention)
    torch.testing.assert_close(prediction.attended.weights, attended.attended.weights)
    fed = torch.cat((decoder.embedding(torch.tensor([4, 5])), attended.context), -1)
    _, after = decoder.recurrence.cells(fed[:, None], state.recurrent)
    torch.testing.assert_close(prediction.state.recurrent, after)
