"""The initial values of a model."""

from typing import Any

import pytest
import torch
from torch import nn

from mt.models.attention import ATTENTIONS
from mt.models.attention.energy import ENERGIES
from mt.models.config import ModelConfig
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.frontends.embedding import EmbeddingConfig
from mt.models.seq2seq import Seq2Seq
from tests.marks import combined

# Each module initialises its own parameters; `init_range` is for the matrices of linear and recurrent layers.
RANGE = 50.0
"""Far from what any constructor gives."""


def built(*, tied: bool = True, **parts: Any) -> Seq2Seq:
    config = {
        "embedding": EmbeddingConfig(embedding_dim=16, tie_output=tied),
        "encoder": ENCODERS["bilstm"].Config(hidden_size=32),
        "decoder": DECODERS["luong"].Config(hidden_size=32, readout_size=16),
        "attention": ATTENTIONS["general"].Config(),
        "init_range": RANGE,
    }
    torch.manual_seed(1)
    return Seq2Seq(ModelConfig(**config | parts), 40, 40)


EVERY_PART = [
    *({"encoder": kind.Config(hidden_size=32)} for kind in ENCODERS.values()),
    *({"decoder": kind.Config(hidden_size=32, readout_size=16)} for kind in DECODERS.values()),
    *({"attention": kind.Config()} for kind in ATTENTIONS.values()),
    *({"attention": ATTENTIONS["mocha"].Config(energy=kind.Config())} for kind in ENERGIES.values()),
]


@combined(str, parts=EVERY_PART, tied=[False, True])
def test_matrices_of_layers_start_uniform_and_all_else_as_constructed(parts: dict[str, Any], tied: bool):
    model = built(tied=tied, **parts)
    # What the range does not change is as constructed.
    narrow = dict(built(tied=tied, **parts, init_range=1.0).named_parameters())
    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    assert (id(model.decoder.output.weight) in tables) == tied
    layers = [module for module in model.modules() if isinstance(module, (nn.Linear, nn.LSTM, nn.GRU))]
    matrices = {id(each) for module in layers for each in module.parameters() if each.dim() == 2} - tables
    for name, parameter in model.named_parameters():
        if id(parameter) not in matrices:
            assert torch.equal(parameter, narrow[name]) and parameter.abs().max() < 5, name
        else:
            # Of a uniform distribution: the mean within five standard deviations of one, the deviation, the bounds.
            size = parameter.numel()
            spread = RANGE / 3**0.5
            assert parameter.mean().abs() < 5 * spread / size**0.5, name
            assert parameter.std().item() == pytest.approx(spread, rel=5 / size**0.5), name
            assert 0.8 * RANGE < parameter.abs().max() <= RANGE, name
