"""Text: ids of tokens, EOS last."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mt.data.fields.base import Field
from mt.data.tokenizer import PAD, Tokenizer

if TYPE_CHECKING:
    from torch import Tensor


class TextField(Field):
    """Rows are int32 arrays of ids that end in EOS; a batch is [B, S] int64, padded with 0."""

    arrow_type = pa.list_(pa.int32())

    def lengths(self, column: pa.ChunkedArray) -> np.ndarray:
        return pc.list_value_length(column).to_numpy().astype(np.int64)

    def rows(self, column: pa.ChunkedArray) -> list[np.ndarray]:
        return [row for chunk in column.chunks for row in _rows(chunk)]

    def collate(self, rows: Sequence[np.ndarray]) -> tuple[Tensor, Tensor]:
        import torch  # Not above: the processes that prepare text would wait for it.

        lengths = torch.tensor([len(row) for row in rows])
        padded = np.full((len(rows), int(lengths.max())), PAD, dtype=np.int64)
        for line, row in zip(padded, rows, strict=True):
            line[: len(row)] = row
        return torch.from_numpy(padded), torch.arange(padded.shape[1]) < lengths[:, None]

    def labels(self, row: Sequence[int] | np.ndarray, tokenizer: Tokenizer) -> list[str]:
        return tokenizer.pieces([int(i) for i in row])


TEXT = TextField()


def _rows(chunk: pa.ListArray) -> Iterator[np.ndarray]:
    values, offsets = chunk.values.to_numpy(), chunk.offsets.to_numpy()
    return (values[start:end] for start, end in itertools.pairwise(offsets))
