"""A model whose vocabularies grow says of what it knew what it said before."""

from typing import Any

import pytest
import torch
from torch import nn

from mt.common.options import parse
from mt.config import Config
from mt.models.attention import ATTENTIONS, energy
from mt.models.attention.energy import ENERGIES, Location, LocationConfig
from mt.models.config import ModelConfig
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.frontends.embedding import EmbeddingConfig
from mt.models.seq2seq import Seq2Seq
from mt.models.weights import resized_state

SMALL = {
    "encoder": {"name": "bilstm", "hidden_size": 8},
    "attention": {"name": "general"},
    "ctc_weight": 0.3,
}


def small(**changes: object) -> Config:
    embedding = {"embedding_dim": 8} | changes.pop("embedding", {})  # type: ignore[operator]
    decoder = {"name": "luong", "hidden_size": 8, "readout_size": 8}
    return parse({**SMALL, "embedding": embedding, "decoder": decoder, **changes}, Config)


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
    config = small(embedding=embedding)
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
    # What is new in a source is read as what is unknown.
    with torch.no_grad():
        known = new.frontend.table.weight[1]
        added = new.frontend.table.weight[before[0] :]
    assert torch.equal(added, known.expand_as(added))


def test_the_blank_of_ctc_stays_last() -> None:
    old = Seq2Seq(small(), 10, 12)
    bias = resized_state(old.state_dict(), (10, 12, None), (10, 15, None))["ctc.bias"]
    before = old.state_dict()["ctc.bias"]
    assert len(bias) == 16 and bias[-1] == before[-1] and torch.equal(bias[:12], before[:12])


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


def every_part() -> list[dict[str, Any]]:
    """Every entry of the tables; attentions with every energy."""
    parts = [{"encoder": kind.Config(hidden_size=32)} for kind in ENCODERS.values()]
    parts += [{"decoder": kind.Config(hidden_size=32, readout_size=16)} for kind in DECODERS.values()]
    for kind in ATTENTIONS.values():
        energies = [energy.Config() for energy in ENERGIES.values()] if "energy" in kind.Config.model_fields else [None]
        parts += [{"attention": kind.Config() if each is None else kind.Config(energy=each)} for each in energies]
    return parts


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("parts", every_part(), ids=str)
def test_matrices_of_layers_start_uniform_and_all_else_as_constructed(parts: dict[str, Any], tied: bool):
    model = built(tied=tied, **parts)
    # What the range does not change is as constructed.
    narrow = dict(built(tied=tied, **parts, init_range=1.0).named_parameters())
    tables = [module.weight for module in model.modules() if isinstance(module, nn.Embedding)]
    assert any(model.decoder.output.weight is table for table in tables) == tied
    matrices = {
        id(parameter)
        for module in model.modules()
        if isinstance(module, (nn.Linear, nn.LSTM, nn.GRU))
        for parameter in module.parameters()
        if parameter.dim() == 2 and not any(parameter is table for table in tables)
    }
    for name, parameter in model.named_parameters():
        if id(parameter) not in matrices:
            assert torch.equal(parameter, narrow[name]), name
            assert parameter.abs().max() < 5, name
        else:
            # Of a uniform distribution: the mean within five standard deviations of one, the deviation, the bounds.
            size = parameter.numel()
            spread = RANGE / 3**0.5
            assert parameter.mean().abs() < 5 * spread / size**0.5, name
            assert parameter.std().item() == pytest.approx(spread, rel=5 / size**0.5), name
            assert 0.8 * RANGE < parameter.abs().max() <= RANGE, name


def test_what_constructors_set():
    location = Location(LocationConfig(max_source_length=50), 16, 16).positions
    direction = energy.Concat(energy.ConcatConfig(attention_dim=400), 16, 16).direction
    for parameter, size in ((location, 16), (direction, 400)):
        bound = size**-0.5
        assert 0.95 * bound < parameter.abs().max() <= bound
        assert parameter.std().item() == pytest.approx(bound / 3**0.5, rel=0.1)
    for tied in (False, True):
        table = built(tied=tied).decoder.embedding.table.weight
        assert table[1:].std().item() == pytest.approx(16**-0.5, rel=0.1)
        assert table.any(-1).tolist() == [False] + [True] * 39
