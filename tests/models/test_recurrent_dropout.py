"""Weights between states that are dropped in training, in every encoder and decoder that has the option."""

from typing import Any

import pytest
import torch
from torch import Tensor

from mt.data.batches import Batch
from mt.models.config import ModelConfig
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.seq2seq import Seq2Seq

TABLES: dict[str, Any] = {"encoder": ENCODERS, "decoder": DECODERS}
DROPPING = [
    (group, name)
    for group, table in TABLES.items()
    for name, kind in table.items()
    if "recurrent_dropout" in kind.Config.model_fields and name != "bahdanau"
]
SIZES = {"encoder": {"hidden_size": 8, "dropout": 0.0}, "decoder": {"hidden_size": 8, "dropout": 0.0}}


def built(group: str, name: str, p: float) -> Seq2Seq:
    parts = {"encoder": {"name": "gru"}, "decoder": {"name": "luong"}} | {group: {"name": name}}
    whole = {part: SIZES[part] | options for part, options in parts.items()}
    whole["decoder"] |= {"readout_size": 6}
    whole[group] |= {"recurrent_dropout": p}
    torch.manual_seed(2)
    return Seq2Seq(ModelConfig.model_validate({"embedding": {"embedding_dim": 6, "dropout": 0.0}, **whole}), 11, 11)


@pytest.fixture
def pairs() -> Batch:
    generator = torch.Generator().manual_seed(4)
    mask = torch.arange(9) < torch.tensor([9, 5, 8])[:, None]
    source = torch.randint(4, 11, (3, 9), generator=generator).masked_fill(~mask, 0)
    target = torch.randint(4, 11, (3, 5), generator=generator)
    return Batch(source, mask, target.roll(1, 1), target, torch.ones(3, 5, dtype=torch.bool))


@pytest.mark.parametrize(("group", "name"), DROPPING)
def test_it_is_a_function_of_the_seed_in_training_alone(group: str, name: str, pairs: Batch) -> None:
    model = built(group, name, 0.4)

    def loss(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return model(pairs).sum

    assert loss(1) == loss(1) != loss(2)
    model.eval()
    assert loss(1) == loss(2)
    torch.testing.assert_close(loss(1), built(group, name, 0.0)(pairs).sum)
