"""What every encoder of the table must keep: padding changes nothing; a causal one can go on from its state."""

import itertools
import random
from typing import Any

import pytest
import torch
from torch import Tensor

from mt.data.batches import Batch
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS, Encoder
from tests.marks import combined
from tests.models.small import arrivals, piece, small

WITH_DROPOUT = [name for name in ENCODERS if "dropout" in ENCODERS[name].Config.model_fields]
INCREMENTAL = [name for name, kind in ENCODERS.items() if kind.incremental]


def variants() -> list[tuple[str, dict[str, Any]]]:
    """Every encoder, with one and two layers where it has layers, else with and without a size of its own."""
    result: list[tuple[str, dict[str, Any]]] = []
    for name, kind in ENCODERS.items():
        if "num_layers" in kind.Config.model_fields:
            result += [(name, {"hidden_size": 4, "num_layers": n}) for n in (1, 2)]
        else:
            result += [(name, {}), (name, {"hidden_size": 4})]
    return result


def build(variant: tuple[str, dict[str, Any]], shake) -> Encoder:
    name, options = variant
    kind = ENCODERS[name]
    return shake(kind(kind.Config(**options), 6), scale=0.4)


@pytest.fixture(params=variants(), ids=str)
def encoder(request, shake) -> Encoder:
    return build(request.param, shake)


@pytest.fixture(params=[one for one in variants() if one[0] in INCREMENTAL], ids=str)
def incremental(request, shake) -> Encoder:
    return build(request.param, shake)


def assert_close(ours: list[Tensor], theirs: list[Tensor]) -> None:
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our, their, atol=2e-6, rtol=1e-5)


def test_a_sentence_alone_is_encoded_as_in_any_batch(encoder: Encoder, vectors, mask):
    for garbage in (1e4, float("nan")):
        encoded = encoder(vectors.masked_fill(~mask[..., None], garbage), mask)
        assert torch.equal(encoded.mask, mask)
        assert encoded.final_state.shape == (5, encoder.final_state_size)
        assert encoded.values.shape == (5, 9, encoder.value_size)
        assert not encoded.values[~encoded.mask].any()
        for row, length in enumerate(mask.sum(1).tolist()):
            one = slice(row, row + 1)
            alone = encoder(vectors[one, :length], mask[one, :length])
            assert_close([alone.values], [encoded.values[one, :length]])
            assert_close([alone.final_state], [encoded.final_state[one]])


def test_padding_gets_no_gradient(encoder: Encoder, vectors, mask):
    vectors.requires_grad_()
    encoded = encoder(vectors, mask)
    sum(part.square().sum() for part in (encoded.values, encoded.final_state)).backward()
    assert vectors.grad[mask].any(-1).all()
    assert not vectors.grad[~mask].any()


def test_a_value_depends_on_nothing_behind_it_where_a_source_may_arrive_and_else_on_all(encoder, vectors, mask):
    vectors.requires_grad_()
    values = encoder(vectors, mask).values
    for position in range(values.shape[1]):
        (gradient,) = torch.autograd.grad(values[0, position].square().sum(), vectors, retain_graph=True)
        looked_at = gradient[0].any(-1)
        assert looked_at[position] and not looked_at[position + 1 :].any() if encoder.incremental else looked_at.all()


def test_each_half_of_the_final_state_depends_on_every_position(encoder: Encoder, vectors, mask):
    """Of two directions each half is one."""
    vectors.requires_grad_()
    for half in encoder(vectors, mask).final_state.chunk(2, -1):
        (gradient,) = torch.autograd.grad(half.sum(), vectors, retain_graph=True)
        assert gradient[mask].any(-1).all()


@pytest.mark.parametrize("seed", range(6))
def test_pieces_of_a_source_are_encoded_as_the_whole(incremental: Encoder, seed: int, vectors, mask):
    """Pieces of any length; each row has its own, and may have none. Some learn late that they have ended."""
    draw = random.Random(seed)
    whole = incremental(vectors, mask)
    lengths = mask.sum(1).tolist()
    state = None
    complete = [False] * len(lengths)
    parts = [whole.values.new_empty(0, whole.values.shape[2])] * len(lengths)
    for begins, ends in itertools.chain(arrivals(lengths, draw), itertools.repeat([lengths] * 2)):
        complete = [
            done or (end == length and draw.random() < 0.7)
            for done, end, length in zip(complete, ends, lengths, strict=True)
        ]
        new, real = piece(vectors, begins, ends, torch.nan)
        encoded, state = incremental.extend(new, real, state, torch.tensor(complete))
        values = encoded.values
        assert values.shape[:2] == encoded.mask.shape and not values[~encoded.mask].any()
        parts = [torch.cat((parts[row], values[row, encoded.mask[row]])) for row in range(5)]
        assert [len(part) for part in parts] == ends, "all that can be known is given, and no more"
        if all(complete):
            break
    assert_close([torch.cat(parts), encoded.final_state], [whole.values[whole.mask], whole.final_state])
    assert all(len(part) == 5 for part in state), "batch first, so that rows can be kept and dropped"


def test_rows_can_be_kept_and_dropped_in_between(incremental: Encoder, vectors, mask):
    _, state = incremental.extend(vectors[:, :5], mask[:, :5], None, mask.sum(1) <= 5)
    kept = torch.tensor([3, 0])
    state = tuple(part[kept] for part in state)
    encoded, _ = incremental.extend(vectors[kept, 5:], mask[kept, 5:], state, torch.tensor([True, True]))
    whole = incremental(vectors, mask)
    count = encoded.mask.sum(1)
    assert count[0] == count[1] > 0
    assert_close([encoded.values], [whole.values[kept, whole.values.shape[1] - int(count[0]) :]])


@pytest.mark.parametrize("name", [name for name in ENCODERS if name not in INCREMENTAL])
def test_what_reads_the_whole_source_cannot_go_on(name: str, vectors, mask):
    kind = ENCODERS[name]
    with pytest.raises(NotImplementedError, match=f"{kind.__name__} needs the whole source"):
        kind(kind.Config(hidden_size=4), 6).extend(vectors, mask, None, mask.any(1))


@pytest.mark.parametrize("name", WITH_DROPOUT)
def test_dropout_is_of_training_alone(name: str, vectors, mask):
    kind = ENCODERS[name]
    encoder = kind(kind.Config(hidden_size=4, num_layers=2, dropout=0.5), 6)
    for training in (False, True):
        encoder.train(training)
        first, second = (encoder(vectors, mask).values for _ in range(2))
        assert torch.equal(first, second) != training


# Every encoder trains under both decoders.


@combined(encoder=ENCODERS, decoder=DECODERS)
def test_every_parameter_learns(encoder: str, decoder: str, mask):
    torch.manual_seed(1)
    parts = {"encoder": {"name": encoder}, "decoder": {"name": decoder, "num_layers": 2}}
    model = small(attention={"name": "bahdanau", "attention_dim": 3}, **parts)
    source = torch.randint(1, 20, mask.shape).masked_fill(~mask, 0)
    target = torch.randint(1, 14, (len(mask), 7))
    model(Batch(source, mask, target[:, :-1], target[:, 1:], target[:, 1:] > 0)).sum.backward()
    silent = [
        name for name, parameter in model.named_parameters() if parameter.grad is None or not parameter.grad.any()
    ]
    assert silent == []
