"""Rows of a split by their numbers, and numbers of Arrow arrays."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from mt.data.arrow import array, numbers
from mt.data.split import Rows
from tests.marks import combined


@combined(
    wanted=[[], [0], [6, 0, 3], [2, 2, 1, 2], [*range(7)], [5, 4, 3, 2]], chunks=[[7], [3, 4], [1, 0, 2, 3, 1], [0, 7]]
)
def test_rows_come_in_the_order_they_are_asked_for(chunks: list[int], wanted: list[int]) -> None:
    schema = pa.schema([("number", pa.int64()), ("list", pa.list_(pa.int32())), ("none", pa.string())])
    rows = [{"number": i, "list": [i] * i, "none": None if i % 2 else str(i)} for i in range(7)]
    starts = np.cumsum([0, *chunks])
    pieces = [pa.RecordBatch.from_pylist(rows[a:b], schema) for a, b in itertools.pairwise(starts)]
    table = pa.Table.from_batches(pieces, schema)
    assert Rows(table)[np.array(wanted, np.int64)].to_pylist() == [rows[i] for i in wanted]
    assert Rows(table)[wanted].schema == schema


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


def test_numbers_become_an_array_of_arrow() -> None:
    assert array(np.array([3, 1, 2])).to_pylist() == [3, 1, 2]
    assert array(np.zeros(0, np.int64)).to_pylist() == []
