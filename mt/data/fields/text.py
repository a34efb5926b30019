"""Text: ids of tokens, EOS last."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mt.data.fields.base import Field, Raw, Row
from mt.data.tokenizer import PAD, Tokenizer, Unit
from mt.parsing import Options

if TYPE_CHECKING:
    from torch import Tensor


class TextConfig(Options):
    name: Literal["text"] = "text"


class TextField(Field):
    """Rows are int32 arrays of ids that end in EOS; a batch is [B, S] int64, padded with 0."""

    Config: ClassVar[type[Options]] = TextConfig
    arrow_type = pa.list_(pa.int32())
    written = True

    def __init__(self, config: TextConfig | None = None) -> None:
        pass

    def encode(self, sources: Sequence[Raw], tokenizer: Tokenizer | None) -> list[list[int]]:
        if tokenizer is None:
            raise ValueError("text is cut by a tokenizer")
        return tokenizer.encode(sources)  # type: ignore[arg-type]  # texts are strings

    def array(self, rows: Sequence[Row | None]) -> pa.ListArray:
        return lists([() if row is None else row for row in rows], np.int32)

    def lengths(self, column: pa.ChunkedArray) -> np.ndarray:
        return pc.list_value_length(column).to_numpy().astype(np.int64)

    def length(self, row: Row) -> int:
        return len(row)

    def rows(self, column: pa.ChunkedArray) -> list[np.ndarray]:
        return [row for chunk in column.chunks for row in _rows(chunk)]

    def collate(self, rows: Sequence[Row]) -> tuple[Tensor, Tensor]:
        import torch  # Not above: the processes that prepare text would wait for it.

        lengths = torch.tensor([len(row) for row in rows])
        padded = np.full((len(rows), int(lengths.max())), PAD, dtype=np.int64)
        for line, row in zip(padded, rows, strict=True):
            line[: len(row)] = row
        return torch.from_numpy(padded), torch.arange(padded.shape[1]) < lengths[:, None]

    def labels(self, row: Row, positions: int, tokenizer: Tokenizer) -> list[str]:
        return tokenizer.pieces([int(i) for i in row])

    def units(
        self,
        positions: int,
        tokenizer: Tokenizer,
        unit: Unit,
        *,
        source: Raw | None = None,
        row: Row | None = None,
    ) -> list[int | None]:
        if source is None:
            return tokenizer.decoded_unit_ids([int(i) for i in row or ()], unit)
        return tokenizer.unit_ids(str(source), unit)

    def blank(self, row: Row) -> bool:
        return len(row) <= 1


TEXT = TextField()


def lists(rows: Sequence[Row], kind: type[np.generic]) -> pa.ListArray:
    """Rows as Arrow lists, without a Python object for each element."""
    offsets = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum([len(ids) for ids in rows], out=offsets[1:])
    values = np.fromiter(itertools.chain.from_iterable(rows), kind, count=offsets[-1])
    return pa.ListArray.from_arrays(offsets, values)


def _rows(chunk: pa.ListArray) -> Iterator[np.ndarray]:
    values, offsets = chunk.values.to_numpy(), chunk.offsets.to_numpy()
    return (values[start:end] for start, end in itertools.pairwise(offsets))
