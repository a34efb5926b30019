"""A model whose vocabularies grow says of what it knew what it said before."""

from typing import Any

import pytest
import torch
from torch import nn

from mt.common.options import parse
from mt.models.attention import ATTENTIONS
from mt.models.attention.energy import ENERGIES
from mt.models.config import ModelConfig
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.frontends.embedding import EmbeddingConfig
from mt.models.seq2seq import Seq2Seq
from mt.models.weights import resized_state
from tests.marks import combined

SMALL = {
    "encoder": {"name": "bilstm", "hidden_size": 8},
    "decoder": {"name": "luong", "hidden_size": 8, "readout_size": 8},
    "attention": {"name": "general"},
    "ctc_weight": 0.3,
}


@pytest.mark.parametrize(
    ("embedding", "before", "after"),
    [
        ({}, (10, 12, None), (13, 19, None)),
        ({"tie_output": False}, (10, 12, None), (10, 13, None)),
        ({"share": True}, (12, 12, None), (15, 15, None)),
        ({}, (10, 12, 7), (13, 19, 7)),
    ],
    ids=str,
)
def test_every_tensor_of_a_vocabulary_grows(embedding: dict, before: tuple, after: tuple) -> None:
    torch.manual_seed(1)
    config = parse({**SMALL, "embedding": {"embedding_dim": 8, **embedding}}, ModelConfig)
    old = Seq2Seq(config, *before)
    new = Seq2Seq(config, *after)
    state = resized_state(old.state_dict(), before, after)
    assert {name: tensor.shape for name, tensor in state.items()} == {
        name: tensor.shape for name, tensor in new.state_dict().items()
    }
    new.load_state_dict(state)
    source = torch.tensor([[5, 6, 3]])
    mask = torch.ones(1, 3, dtype=torch.bool)
    log_probs = []
    for model in (old, new):
        model.eval()
        with torch.no_grad():
            memory = model.encode(source, mask)
            log_probs.append(model.step(torch.tensor([2]), memory, model.init_state(memory)).logits.log_softmax(-1))
    torch.testing.assert_close(log_probs[1][:, : before[1]], log_probs[0], atol=1e-6, rtol=0)
    assert log_probs[1][:, before[1] :].exp().sum() <= 1.0001e-8 * log_probs[0][:, 1].exp()
    # What is new in a source is read as what is unknown, and the blank of CTC stays last.
    added = state["frontend.table.weight"][before[0] :]
    assert torch.equal(added, state["frontend.table.weight"][1].expand_as(added))
    known = old.state_dict()["ctc.bias"]
    assert state["ctc.bias"][-1] == known[-1] and torch.equal(state["ctc.bias"][: len(known) - 1], known[:-1])


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
