import numpy as np
import pyarrow as pa
import pytest
import torch

from mt.data.fields import TextField
from mt.data.tokenizer import EOS, TokenizerConfig, train


@pytest.fixture
def field() -> TextField:
    return TextField()


def test_a_column_has_lengths_and_rows(field: TextField) -> None:
    rows = [[5, 6, 3], [3], [4, 4, 4, 3]]
    column = pa.chunked_array([pa.array(rows[:2], field.arrow_type), pa.array(rows[2:], field.arrow_type)])
    assert field.lengths(column).tolist() == [3, 1, 4]
    assert [row.tolist() for row in field.rows(column)] == rows
    assert [row.tolist() for row in field.rows(column.slice(1))] == rows[1:]


def test_a_batch_is_padded_on_the_right(field: TextField) -> None:
    padded, mask = field.collate([np.array([7, 8, EOS], np.int32), np.array([EOS], np.int32)])
    assert (padded.dtype, mask.dtype) == (torch.int64, torch.bool)
    assert padded.tolist() == [[7, 8, 3], [3, 0, 0]]
    assert mask.tolist() == [[True, True, True], [True, False, False]]


def test_labels_are_the_pieces(field: TextField) -> None:
    tokenizer = train(TokenizerConfig(model_type="char", vocab_size=20), ["abc cba"])
    [ids] = tokenizer.encode(["cab"])
    assert field.labels(ids, len(ids), tokenizer) == ["▁", "c", "a", "b", "</s>"]
