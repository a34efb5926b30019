"""What every encoder of the table must keep: padding changes nothing; a causal one can go on from its state."""

import random
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mt.models.encoders import ENCODERS, Encoded, Encoder

WITH_DROPOUT = [name for name in ENCODERS if "dropout" in ENCODERS[name].Config.model_fields]
CAUSAL = [name for name, kind in ENCODERS.items() if kind.causal]


def variants() -> list[tuple[str, dict[str, Any]]]:
    """Every encoder, with one and two layers where it has layers, else with and without a size of its own."""
    found: list[tuple[str, dict[str, Any]]] = []
    for name, kind in ENCODERS.items():
        layered = "num_layers" in kind.Config.model_fields
        found += (
            [(name, {"hidden_size": 4, "num_layers": n}) for n in (1, 2)]
            if layered
            else [(name, {}), (name, {"hidden_size": 4})]
        )
    return found


def build(variant: tuple[str, dict[str, Any]], shake) -> Encoder:
    name, options = variant
    kind = ENCODERS[name]
    return shake(kind(kind.Config(**options), 6), scale=0.4)


@pytest.fixture(params=variants(), ids=str)
def encoder(request, shake) -> Encoder:
    return build(request.param, shake)


@pytest.fixture(params=[variant for variant in variants() if variant[0] in CAUSAL], ids=str)
def causal(request, shake) -> Encoder:
    return build(request.param, shake)


def at_positions(encoded: Encoded, rows: slice = slice(None), length: int | None = None) -> list[Tensor]:
    """All that there is for each position: [B, S, V] each."""
    return [part[rows, :length] for part in (encoded.values, encoded.keys)]


def assert_close(ours: list[Tensor], theirs: list[Tensor]) -> None:
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our, their, atol=2e-6, rtol=1e-5)


def test_a_sentence_alone_is_encoded_as_in_any_batch(encoder: Encoder, vectors, mask):
    for garbage in (1e4, float("nan")):
        encoded = encoder(vectors.masked_fill(~mask[..., None], garbage), mask)
        places = encoder.places(mask.sum(1))
        assert torch.equal(encoded.mask, torch.arange(int(places.max())) < places[:, None])
        assert encoded.final_state.shape == (5, encoder.final_state_size)
        for part in at_positions(encoded):
            assert part.shape == (5, int(places.max()), encoder.value_size)
            assert not part[~encoded.mask].any()
        for row, length in enumerate(mask.sum(1).tolist()):
            one = slice(row, row + 1)
            alone = encoder(vectors[one, :length], mask[one, :length])
            assert_close(at_positions(alone), at_positions(encoded, one, int(places[row])))
            assert_close([alone.final_state], [encoded.final_state[one]])


def test_longer_padding_changes_nothing(encoder: Encoder, vectors, mask):
    before = encoder(vectors, mask)
    longer = encoder(nn.functional.pad(vectors, (0, 0, 0, 4), value=7.0), nn.functional.pad(mask, (0, 4)))
    length = before.values.shape[1]
    assert_close(
        [*at_positions(before), before.final_state], [*at_positions(longer, length=length), longer.final_state]
    )
    assert longer.mask.shape[1] == int(encoder.places(torch.tensor(13)))
    assert torch.equal(longer.mask.sum(1), before.mask.sum(1))


def test_padding_gets_no_gradient(encoder: Encoder, vectors, mask):
    vectors.requires_grad_()
    encoded = encoder(vectors, mask)
    sum(part.square().sum() for part in (*at_positions(encoded), encoded.final_state)).backward()
    assert vectors.grad[mask].any(-1).all()
    assert not vectors.grad[~mask].any()


def test_causal_means_that_a_position_depends_on_nothing_to_its_right(encoder: Encoder, vectors, mask):
    changed = vectors.clone()
    changed[:, 5:] = -changed[:, 5:]
    first = int(encoder.places(torch.tensor(6))) - 1  # place that has heard of a change
    for before, after in zip(*(at_positions(encoder(v, mask)) for v in (vectors, changed)), strict=True):
        assert torch.equal(before[:, :first], after[:, :first]) == encoder.causal
        assert not torch.equal(before[0, first:], after[0, first:])


def test_the_final_state_depends_on_every_position(encoder: Encoder, vectors, mask):
    vectors.requires_grad_()
    encoder(vectors, mask).final_state.sum().backward()
    assert vectors.grad[mask].any(-1).all()


@pytest.mark.parametrize("seed", range(4))
def test_pieces_of_a_source_are_encoded_as_the_whole(causal: Encoder, seed: int, vectors, mask):
    """Pieces of any length; each row has its own, and none once it has ended."""
    draw, whole, lengths = random.Random(seed), causal(vectors, mask), mask.sum(1).tolist()
    begins, state = [0] * len(lengths), None
    found = [torch.full_like(part, torch.nan) for part in at_positions(whole)]
    while begins != lengths:
        low = 1 if state is None else 0
        counts = [min(draw.choice((low, 1, 2, 4)), length - b) for b, length in zip(begins, lengths, strict=True)]
        piece = torch.full((5, max(1, *counts), 6), torch.nan)
        for row, (begin, count) in enumerate(zip(begins, counts, strict=True)):
            piece[row, :count] = vectors[row, begin : begin + count]
        new = torch.arange(piece.shape[1]) < torch.tensor(counts)[:, None]
        encoded, state = causal.extend(piece, new, state)
        assert torch.equal(encoded.mask, new)
        for whole_part, part in zip(found, at_positions(encoded), strict=True):
            assert not part[~new].any()
            for row, (begin, count) in enumerate(zip(begins, counts, strict=True)):
                whole_part[row, begin : begin + count] = part[row, :count]
        begins = [begin + count for begin, count in zip(begins, counts, strict=True)]
    assert_close([part[mask] for part in found], [part[mask] for part in at_positions(whole)])
    assert_close([encoded.final_state], [whole.final_state])
    assert all(len(part) == 5 for part in state), "batch first, so that rows can be kept and dropped"


@pytest.mark.parametrize("name", [name for name in ENCODERS if name not in CAUSAL])
def test_what_is_not_causal_cannot_go_on(name: str, vectors, mask):
    kind = ENCODERS[name]
    with pytest.raises(NotImplementedError, match=f"{kind.__name__} is not causal"):
        kind(kind.Config(hidden_size=4), 6).extend(vectors, mask)


@pytest.mark.parametrize("name", WITH_DROPOUT)
def test_dropout_is_of_training_alone(name: str, vectors, mask):
    kind = ENCODERS[name]
    encoder = kind(kind.Config(hidden_size=4, num_layers=2, dropout=0.5), 6)
    for training in (False, True):
        encoder.train(training)
        for first, second in zip(*(at_positions(encoder(vectors, mask)) for _ in range(2)), strict=True):
            assert torch.equal(first, second) != training
