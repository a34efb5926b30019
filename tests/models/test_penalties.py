"""The penalties of weights in the loss of a model: of every attention whose weights can be trained."""

import pytest
import torch

from mt.common.options import parse
from mt.data.batches import Batch
from mt.models.attention import ATTENTIONS
from mt.models.config import ModelConfig
from mt.models.encoders.recurrent import BiLSTMConfig
from mt.models.seq2seq import Seq2Seq
from mt.ops.losses import coverage_loss, doubly_stochastic_loss
from tests.marks import combined

PENALTIES = {"doubly_stochastic_weight": doubly_stochastic_loss, "coverage_weight": coverage_loss}
TRAINED = [name for name, kind in ATTENTIONS.items() if kind.learns_weights]


def model(attention: str, penalties: dict[str, float], **options) -> Seq2Seq:
    encoder = BiLSTMConfig(hidden_size=6, dropout=0.0).model_dump()
    plain = {
        "encoder": encoder,
        "decoder": {"name": "luong", "hidden_size": 6},
        "attention": {"name": attention, **options},
        **penalties,
    }
    torch.manual_seed(3)
    return Seq2Seq(parse(plain, ModelConfig), 20, 14)


@pytest.fixture
def batch() -> Batch:
    generator = torch.Generator().manual_seed(1)
    source_mask = torch.arange(9) < torch.tensor([9, 4, 6])[:, None]
    mask = torch.arange(5) < torch.tensor([5, 2, 4])[:, None]
    source = torch.randint(1, 20, (3, 9), generator=generator) * source_mask
    target = torch.randint(4, 14, (3, 5), generator=generator)
    return Batch(source, source_mask, target, target * mask, mask)


@combined(attention=TRAINED, option=PENALTIES)
def test_it_is_added_with_its_weight_and_leaves_the_rest_as_it_is(attention: str, option: str, batch: Batch):
    plain = model(attention, {}).eval()
    priced = model(attention, {option: 0.5}).eval()
    before = plain(batch)
    after = priced(batch)
    assert torch.equal(before.sum, after.sum) and torch.equal(before.attention.weights, after.attention.weights)
    # In evaluation no mechanism samples.
    penalty = PENALTIES[option](after.attention.weights, batch.source_mask, batch.target_mask).sum()
    assert penalty > 0.1
    torch.testing.assert_close(after.auxiliary, before.auxiliary + 0.5 * penalty)
    (after.auxiliary - before.auxiliary.detach()).backward()
    assert any(p.grad is not None and p.grad.any() for p in priced.parameters())


def test_penalties_are_added_to_one_another(batch: Batch):
    loss = model("general", dict.fromkeys(PENALTIES, 2.0)).eval()(batch)
    parts = [penalty(loss.attention.weights, batch.source_mask, batch.target_mask) for penalty in PENALTIES.values()]
    torch.testing.assert_close(loss.auxiliary, 2 * torch.stack(parts).sum())


@pytest.mark.parametrize("option", PENALTIES)
def test_of_samples_the_probabilities_are_priced(option: str, batch: Batch):
    options = {"sample_ratio": 1.0, "reinforce_weight": 0.0, "entropy_weight": 0.0}
    loss = model("stochastic", {option: 1.0}, **options).train()(batch)
    assert ((loss.attention.weights == 0) | (loss.attention.weights == 1)).all()
    expected = PENALTIES[option](loss.attention.alpha, batch.source_mask, batch.target_mask).sum()
    torch.testing.assert_close(loss.auxiliary, expected)
    assert loss.auxiliary.requires_grad
