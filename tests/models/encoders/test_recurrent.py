"""What every encoder of the table must keep: padding changes nothing, and a one-way encoder does not read ahead."""

import pytest
import torch
from torch import nn

from mt.models.encoders import ENCODERS, Encoder

LENGTHS = (9, 1, 4, 9, 2)


@pytest.fixture(params=[(name, layers) for name in ENCODERS for layers in (1, 2)], ids=str)
def encoder(request, shake) -> Encoder:
    name, layers = request.param
    kind = ENCODERS[name]
    return shake(kind(kind.Config(hidden=5, layers=layers, dropout=0.5), 6), scale=0.4)


@pytest.fixture
def vectors() -> torch.Tensor:
    return torch.randn(len(LENGTHS), max(LENGTHS), 6, generator=torch.Generator().manual_seed(2))


@pytest.fixture
def mask() -> torch.Tensor:
    return torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]


def test_a_sentence_alone_is_encoded_as_in_any_batch(encoder: Encoder, vectors, mask):
    values, summary = encoder(vectors.masked_fill(~mask[..., None], 1e4), mask)
    assert values.shape == (5, 9, encoder.value_size)
    assert summary.shape == (5, encoder.summary_size)
    for row, length in enumerate(LENGTHS):
        alone = encoder(vectors[row : row + 1, :length], mask[row : row + 1, :length])
        torch.testing.assert_close(values[row, :length], alone.values[0], atol=1e-6, rtol=0)
        torch.testing.assert_close(summary[row], alone.summary[0], atol=1e-6, rtol=0)
        assert not values[row, length:].any()


def test_longer_padding_changes_nothing(encoder: Encoder, vectors, mask):
    values, summary = encoder(vectors, mask)
    longer = encoder(nn.functional.pad(vectors, (0, 0, 0, 4), value=7.0), nn.functional.pad(mask, (0, 4)))
    torch.testing.assert_close(longer.values[:, :9], values, atol=1e-6, rtol=0)
    torch.testing.assert_close(longer.summary, summary, atol=1e-6, rtol=0)
    assert longer.values.shape[1] == 13


def test_padding_gets_no_gradient(encoder: Encoder, vectors, mask):
    vectors.requires_grad_()
    values, summary = encoder(vectors, mask)
    (values.square().sum() + summary.sum()).backward()
    assert vectors.grad is not None
    assert vectors.grad[mask].any()
    assert not vectors.grad[~mask].any()


def test_one_way_means_that_a_value_depends_on_nothing_to_its_right(encoder: Encoder, vectors, mask):
    changed = vectors.clone()
    changed[:, 5:] = -changed[:, 5:]
    before, after = encoder(vectors, mask).values, encoder(changed, mask).values
    assert torch.equal(before[:, :5], after[:, :5]) == encoder.one_way
    assert not torch.equal(before[0, 5:], after[0, 5:])


def test_the_summary_has_read_everything(encoder: Encoder, vectors, mask):
    vectors.requires_grad_()
    encoder(vectors, mask).summary.sum().backward()
    assert vectors.grad is not None
    assert vectors.grad[mask].any(-1).all()


def test_a_one_way_summary_is_the_last_value(encoder: Encoder, vectors, mask):
    if not encoder.one_way:
        pytest.skip("its summary joins the ends of both directions")
    values, summary = encoder(vectors, mask)
    torch.testing.assert_close(summary, values[torch.arange(5), torch.tensor(LENGTHS) - 1])
