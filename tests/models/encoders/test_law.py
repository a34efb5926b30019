"""What every encoder of the table must keep: padding changes nothing, and a one-way encoder does not read ahead."""

import pytest
import torch
from torch import Tensor, nn

from mt.models.encoders import ENCODERS, Encoded, Encoder


def variants() -> list[tuple[str, dict[str, int]]]:
    """Every encoder, with one and two layers where it has layers, else with and without a size of its own."""
    found: list[tuple[str, dict[str, int]]] = []
    for name, kind in ENCODERS.items():
        layered = "layers" in kind.Config.model_fields
        found += (
            [(name, {"hidden_size": 5, "num_layers": n}) for n in (1, 2)]
            if layered
            else [(name, {}), (name, {"hidden_size": 5})]
        )
    return found


@pytest.fixture(params=variants(), ids=str)
def encoder(request, shake) -> Encoder:
    name, options = request.param
    kind = ENCODERS[name]
    return shake(kind(kind.Config(**options), 6), scale=0.4)


def per_position(encoded: Encoded) -> list[Tensor]:
    """All that stands at positions: [B, S, V] each."""
    return [encoded.values] if encoded.compared is None else [encoded.values, encoded.compared]


def assert_close(ours: Encoded, theirs: Encoded) -> None:
    for our, their in zip([*per_position(ours), ours.summary], [*per_position(theirs), theirs.summary], strict=True):
        torch.testing.assert_close(our, their, atol=1e-6, rtol=0)


def test_a_sentence_alone_is_encoded_as_in_any_batch(encoder: Encoder, vectors, mask):
    for garbage in (1e4, float("nan")):
        encoded = encoder(vectors.masked_fill(~mask[..., None], garbage), mask)
        assert encoded.summary.shape == (5, encoder.final_state_size)
        for positions in per_position(encoded):
            assert positions.shape == (5, 9, encoder.value_size)
            assert not positions[~mask].any()
        for row, length in enumerate(mask.sum(1).tolist()):
            alone = encoder(vectors[row : row + 1, :length], mask[row : row + 1, :length])
            cut = [
                None if part is None else part[row : row + 1, :length] for part in (encoded.values, encoded.compared)
            ]
            assert_close(alone, Encoded(cut[0], encoded.summary[row : row + 1], cut[1]))


def test_longer_padding_changes_nothing(encoder: Encoder, vectors, mask):
    before = encoder(vectors, mask)
    longer = encoder(nn.functional.pad(vectors, (0, 0, 0, 4), value=7.0), nn.functional.pad(mask, (0, 4)))
    cut = [None if part is None else part[:, :9] for part in (longer.values, longer.compared)]
    assert_close(before, Encoded(cut[0], longer.summary, cut[1]))
    assert longer.values.shape[1] == 13


def test_padding_gets_no_gradient(encoder: Encoder, vectors, mask):
    vectors.requires_grad_()
    encoded = encoder(vectors, mask)
    sum(part.square().sum() for part in (*per_position(encoded), encoded.summary)).backward()
    assert vectors.grad[mask].any(-1).all()
    assert not vectors.grad[~mask].any()


def test_one_way_means_that_a_position_depends_on_nothing_to_its_right(encoder: Encoder, vectors, mask):
    changed = vectors.clone()
    changed[:, 5:] = -changed[:, 5:]
    for before, after in zip(*(per_position(encoder(v, mask)) for v in (vectors, changed)), strict=True):
        assert torch.equal(before[:, :5], after[:, :5]) == encoder.causal
        assert not torch.equal(before[0, 5:], after[0, 5:])


def test_the_summary_has_read_everything(encoder: Encoder, vectors, mask):
    vectors.requires_grad_()
    encoder(vectors, mask).summary.sum().backward()
    assert vectors.grad[mask].any(-1).all()


@pytest.mark.parametrize("name", [name for name, kind in ENCODERS.items() if "dropout" in kind.Config.model_fields])
def test_dropout_is_of_training_alone(name: str, vectors, mask):
    kind = ENCODERS[name]
    encoder = kind(kind.Config(hidden_size=5, num_layers=2, dropout=0.5), 6)
    for training in (False, True):
        encoder.train(training)
        for first, second in zip(*(per_position(encoder(vectors, mask)) for _ in range(2)), strict=True):
            assert torch.equal(first, second) != training
