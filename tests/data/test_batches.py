from typing import Any

import numpy as np
import torch
from hypothesis import given, strategies as st

from mt.data.batches import batch_order, collate, fixed_order

_LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=80)


def _columns(lengths: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    source, target = np.array(lengths, dtype=np.int64).reshape(-1, 2).T
    return source, target


@given(_LENGTHS, st.integers(1, 200), st.integers(1, 9), st.integers(0, 3), st.integers(1, 5))
def test_every_example_comes_once_within_the_budget(lengths, max_tokens, max_sentences, epoch, together):
    source, target = _columns(lengths)
    options: Any = {"max_sentences": max_sentences, "seed": 1, "epoch": epoch, "together": together}
    roomy = batch_order(source, target, max_tokens=10**6, **options)
    assert len(roomy) == -(-len(lengths) // max_sentences)
    batches = batch_order(source, target, max_tokens=max_tokens, **options)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(source[batch].max(), target[batch].max())
        assert len(batch) == 1 or (len(batch) * longest <= max_tokens and len(batch) <= max_sentences)


@given(_LENGTHS, st.integers(1, 200))
def test_fixed_order_is_sorted_and_whole(lengths: list[tuple[int, int]], max_tokens: int) -> None:
    """By the longer side of each pair, where there are pairs."""
    source, target = _columns(lengths)
    for columns, longest in (([source], source), ([source, target], np.maximum(source, target))):
        batches = fixed_order(*columns, max_tokens=max_tokens)
        order = [i for batch in batches for i in batch]
        assert sorted(order) == list(range(len(lengths)))
        assert [longest[i] for i in order] == sorted(longest)
        assert all(len(batch) == 1 or len(batch) * longest[batch].max() <= max_tokens for batch in batches)


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    lengths = np.random.default_rng(0).integers(1, 30, size=(2, 500))

    def order(seed: int, epoch: int) -> list[list[int]]:
        return [batch.tolist() for batch in batch_order(*lengths, max_tokens=200, seed=seed, epoch=epoch)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 1) != order(2, 0)
    assert order(1, 0) != order(2, 0)
    # The batches that are too few for an update may have any length.
    orders = [batch_order(*lengths, max_tokens=200, seed=1, epoch=epoch, together=7) for epoch in range(40)]
    assert len(orders[0]) % 7 and len({int(lengths[:, batches[-1]].max()) for batches in orders}) > 5


def test_lengths_of_translations_are_padded_by_less_than_four_percent() -> None:
    draw = np.random.default_rng(1)
    source = draw.integers(6, 40, 20_000)
    target = source + draw.integers(-5, 6, 20_000)
    batches = batch_order(source, target, max_tokens=4096, seed=1, epoch=0)
    padded = sum(len(batch) * int(side[batch].max()) for batch in batches for side in (source, target))
    assert 1 - (source.sum() + target.sum()) / padded < 0.04


def test_collate_by_hand() -> None:
    pairs = (([7, 8, 3], [9, 3]), ([5, 3], [4, 5, 6, 3]))
    batch = collate([(np.array(source, np.int32), np.array(target, np.int32)) for source, target in pairs])
    assert batch.source.tolist() == [[7, 8, 3], [5, 3, 0]]
    assert batch.source_mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_in.tolist() == [[2, 9, 0, 0], [2, 4, 5, 6]]
    assert batch.target_out.tolist() == [[9, 3, 0, 0], [4, 5, 6, 3]]
    assert batch.target_mask.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.source.dtype == batch.target_in.dtype == batch.target_out.dtype == torch.int64
    assert all(part.device.type == "meta" for part in batch.to("meta") if isinstance(part, torch.Tensor))
