from typing import Any

import pytest
import torch

from mt.models.attention import ATTENTIONS
from mt.models.attention.energy import ENERGIES
from mt.models.attention.global_ import Dot, DotAttentionConfig, Global
from mt.models.encoders import Encoded
from tests.marks import combined

GLOBAL = {name: kind for name, kind in ATTENTIONS.items() if issubclass(kind, Global)}


def test_every_energy_is_an_attention_of_its_own_name_and_concat_is_bahdanau():
    assert {name: kind.energy_class for name, kind in GLOBAL.items()} == {
        {"concat": "bahdanau"}.get(name, name): kind for name, kind in ENERGIES.items()
    }


@combined(name=GLOBAL, scaled=[False, True])
def test_weights_are_the_softmax_of_the_energies_of_real_positions(name: str, scaled: bool, batch, shake):
    attention: Any = shake(GLOBAL[name](GLOBAL[name].Config(scaled=scaled), 6, 6))
    memory = attention.init_memory(batch.encoded)
    weights = attention(batch.queries, memory).weights
    energies = attention.energy(batch.queries, memory.keys[0])
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        torch.testing.assert_close(weights[row, :, :length], energies[row, :, :length].softmax(-1))
    torch.testing.assert_close(weights.sum(-1), torch.ones(8, 7))


@pytest.mark.parametrize("name", GLOBAL)
def test_scaled_is_a_gain_and_a_normalized_direction(name: str):
    """Without it, an attention has the parameters of its energy in the form of the paper, and no others."""
    kind = GLOBAL[name]
    plain, scaled = ({k for k, _ in kind(kind.Config(scaled=s), 6, 6).named_parameters()} for s in (False, True))
    added = {"energy.gain"} | ({"energy.energy.project_value.bias"} if "energy.direction" in plain else set())
    assert scaled == {parameter.replace("energy.", "energy.energy.", 1) for parameter in plain} | added


def test_worked_out_by_hand():
    attention = Dot(DotAttentionConfig(), 1, 1)
    values = torch.tensor([[[0.0], [1.0], [5.0]]])
    memory = attention.init_memory(Encoded(values, values, torch.tensor([[True, True, False]]), values[:, 0]))
    step = attention.step(torch.tensor([[1.0986123]]), memory, attention.init_state(memory))
    # exp(0) = 1 and exp(log 3) = 3.
    torch.testing.assert_close(step.attended.weights, torch.tensor([[0.25, 0.75, 0.0]]))
    torch.testing.assert_close(step.context, torch.tensor([[0.75]]))
    assert step.attended.stops is None
