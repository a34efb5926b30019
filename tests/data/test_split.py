"""Rows of a split by their numbers, and numbers of Arrow arrays."""

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from mt.data.arrow import numbers
from mt.data.fields import TEXT
from mt.data.split import Portion, Split, rows_of_epoch
from tests.marks import combined


@combined(
    wanted=[[], [0], [6, 0, 3], [2, 2, 1, 2], [*range(7)], [5, 4, 3, 2]], chunks=[[7], [3, 4], [1, 0, 2, 3, 1], [0, 7]]
)
def test_rows_come_in_the_order_they_are_asked_for(chunks: list[int], wanted: list[int]) -> None:
    texts = [(name, pa.string()) for name in ("source", "target")]
    schema = pa.schema([*texts, *((f"{name}_ids", TEXT.arrow_type) for name, _ in texts)])
    rows = [{"source": f"s{i}", "target": f"t{i}", "source_ids": [i] * i, "target_ids": [i]} for i in range(7)]
    starts = np.cumsum([0, *chunks])
    pieces = [pa.RecordBatch.from_pylist(rows[a:b], schema) for a, b in itertools.pairwise(starts)]
    split = Split(pa.Table.from_batches(pieces, schema))
    for indices in (wanted, np.array(wanted, np.int64)):
        assert split.texts(indices) == [(f"s{i}", f"t{i}") for i in wanted]
        assert [(source.tolist(), target.tolist()) for source, target in split.read(indices).pairs] == [
            ([i] * i, [i]) for i in wanted
        ]


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.int16(), pa.uint8(), pa.float16()])
def test_numbers_of_arrow_are_those_of_numpy(kind: pa.DataType) -> None:
    values = np.arange(5).astype(kind.to_pandas_dtype())
    whole = pa.array(values, kind)
    assert numbers(whole).dtype == values.dtype
    for start, end in ((0, 5), (1, 4), (2, 2)):
        assert np.array_equal(numbers(whole[start:end]), values[start:end])
    several = pa.chunked_array([whole[:2], whole[2:2], whole[2:]])
    assert np.array_equal(numbers(several), values)
    assert np.array_equal(numbers(pa.chunked_array([], kind)), values[:0])


# Mixing.
def test_by_hand() -> None:
    rows = rows_of_epoch([Portion(3, 2.0), Portion(0, 0.5), Portion(2, 1.0)], 1, 1)
    assert rows.tolist() == [0, 0, 1, 1, 2, 2, 3, 4]


def _counts(portions: list[Portion], epochs: range, seed: int = 1) -> Counter[int]:
    return Counter(row for epoch in epochs for row in rows_of_epoch(portions, seed, epoch).tolist())


@pytest.mark.parametrize(("weight", "epochs"), [(0.1, 10), (0.25, 4), (0.5, 2), (0.7, 10), (2.5, 2)])
def test_no_row_is_lost_over_epochs(weight: float, epochs: int) -> None:
    portions = [Portion(7, 1.0), Portion(100, weight), Portion(3, 3.0)]
    for begin in (1, 1 + epochs):
        counts = _counts(portions, range(begin, begin + epochs))
        assert {counts[row] for row in range(7)} == {epochs}
        assert {counts[row] for row in range(7, 107)} == {round(weight * epochs)}
        assert {counts[row] for row in range(107, 110)} == {3 * epochs}


def test_an_epoch_is_a_function_of_its_seed_and_number() -> None:
    portions = [Portion(1_000, 0.1), Portion(1_000, 0.1)]
    first = rows_of_epoch(portions, 1, 1)
    assert np.array_equal(first, rows_of_epoch(portions, 1, 1))
    assert not np.array_equal(first, rows_of_epoch(portions, 1, 2))
    assert not np.array_equal(first, rows_of_epoch(portions, 2, 1))
    assert not np.array_equal(first[:100], first[100:] - 1_000)
    assert len(first) == 200 and (np.diff(first) >= 0).all()


@pytest.mark.parametrize(("size", "weight", "epochs"), [(3, 0.1, 10), (1, 0.001, 1000), (7, 2.3, 10), (2, 0.3, 10)])
def test_a_share_of_less_than_a_pair_comes_over_epochs(size: int, weight: float, epochs: int) -> None:
    counts = _counts([Portion(size, weight)], range(1, epochs + 1))
    assert counts == dict.fromkeys(range(size), round(weight * epochs))
    assert len(rows_of_epoch([Portion(size, weight)], 1, 1))  # the first epoch always has some
