"""The interface of fields: how one side of a corpus is read, stored, measured, made into batches, and labelled.

`Raw` is a source as a caller gives it, `Row` what a model reads of it. `ReadSource` is what a translation says of its
source.
"""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mt.common.backdrop import Backdrop
from mt.common.options import Options
from mt.data.arrow import numbers
from mt.data.tokenizer import LinkUnit, Tokenizer, Unit
from mt.errors import UserError

if TYPE_CHECKING:  # preparation, which stores fields, would wait for torch
    from torch import Tensor

    from mt.data.fields.arriving import Arriving

Raw = str | Path | bytes | np.ndarray
"""A source as the caller passes it: a text, or of a sound or picture the path, the bytes of the file, samples or
pixels."""
Row = Sequence[int] | np.ndarray
"""The part of one example that a model reads."""


class SourceError(UserError):
    """A file that cannot be read as what it should be.

    `reason` says why training can do without it, where it can: a pair that cleaning drops.
    """

    def __init__(self, sentence: str, reason: str | None = None) -> None:
        super().__init__(sentence, reason)
        self.reason = reason
        self.source: str | None = None
        """Its name in the corpus, where it belongs to one."""

    def __str__(self) -> str:
        return str(self.args[0])


class ReadSource(NamedTuple):
    """A source as alignments and delays see it."""

    labels: Sequence[str]
    """What each place is called."""
    units: Sequence[int | None]
    """Which unit, as a word, each place belongs to; None for none."""
    arrivals: Callable[[], Sequence[int] | np.ndarray]
    """Returns the positions of each of the parts, such as words, in which a source arrives."""
    length: int
    """Its positions, as its field counts them: a model may make fewer of them, which `labels` names."""
    part: int = 1
    """The length of such a part in delays: 1 where it is a word, else its milliseconds."""
    backdrop: Callable[[], Backdrop | None] | None = None
    """Makes what its attention is drawn on; None for a table."""


class Field(ABC):
    """One side of the examples of a corpus, made of its options alone.

    A row is one example's. `tokenizer` is that of the side where the field is text, and is not used by others.
    """

    Config: ClassVar[type[Options]]
    batch_dtype: ClassVar[type[np.generic] | None] = None
    """The type of a batch; None: that of rows."""
    written: ClassVar[bool] = False
    """Whether it is text: it has words to count, and a vocabulary."""
    endings: ClassVar[tuple[str, ...]] = ()
    """The endings of the names of files that are each a source."""
    milliseconds: ClassVar[int | None] = None
    """The length of a position, in which delays are counted then; None where sources have no time."""
    shard_size: int | None = None
    """Most examples that are prepared at a time; None leaves it to their characters."""

    def __init__(self, dtype: type[np.generic], shape: tuple[int, ...] = ()) -> None:
        """dtype: of rows. shape: that of one position."""
        self._dtype = dtype
        self._shape = shape
        self._size = int(np.prod(shape))
        self.arrow_type = pa.list_(pa.from_numpy_dtype(dtype))
        """The type of its column in a prepared corpus."""

    @abstractmethod
    def encode(self, sources: Sequence[Raw], tokenizer: Tokenizer | None) -> Sequence[Row]:
        """Returns the rows of the sources. Raises `SourceError` where one cannot be read. tokenizer: None if no
        text."""

    def require_readable(self, source: Raw) -> None:
        """Raises `SourceError` where `encode` would for a source that is no text, with as little work as that takes."""
        self.encode([source], None)

    @abstractmethod
    def column(self, sources: Sequence[str], tokenizer: Tokenizer | None, opened: Callable[[str], Raw]) -> pa.Array:
        """Returns the rows of a corpus' sources as a column, where null is the row of the example before.

        opened: returns what `encode` reads for a source. Raises `SourceError`, with its `source`, where one cannot be
        read.
        """

    def lengths(self, column: pa.ChunkedArray) -> np.ndarray:
        """Returns the positions of each row, by which batches are made, [N] int64; 0 for null."""
        return numbers(pc.fill_null(pc.list_value_length(column), 0)).astype(np.int64) // self._size

    def length(self, row: Row) -> int:
        """Counts the positions of a row."""
        return len(row)

    def rows(self, column: pa.ChunkedArray) -> list[np.ndarray]:
        """Returns the rows of a column, each [positions, ...]."""
        rows: list[np.ndarray] = []
        for chunk in column.chunks:
            values = numbers(chunk.values)
            offsets = numbers(chunk.offsets)
            rows += [values[start:end].reshape(-1, *self._shape) for start, end in itertools.pairwise(offsets)]
        return rows

    def collate(self, rows: Sequence[Row]) -> tuple[Tensor, Tensor]:
        """Returns the rows as one tensor [B, S, ...], padded with 0 on the right, and the mask [B, S] bool of real
        positions."""
        import torch  # Not above: the processes that prepare sources would wait for it.

        lengths = np.array([len(row) for row in rows])
        padded = np.zeros((len(rows), lengths.max(), *self._shape), self.batch_dtype or self._dtype)
        for line, row in zip(padded, rows, strict=True):
            line[: len(row)] = row
        return torch.from_numpy(padded), torch.from_numpy(np.arange(padded.shape[1]) < lengths[:, None])

    @abstractmethod
    def labels(self, row: Row, positions: int, tokenizer: Tokenizer) -> list[str]:
        """Returns what to write in a picture beside each position that a model has made of a row."""

    def units(self, positions: int, tokenizer: Tokenizer, unit: LinkUnit, source: Raw) -> list[int | None]:
        """Returns which unit, such as a word, each of these positions belongs to, None for none; the default is a unit
        each.

        source: what the caller passed.
        """
        return [*range(positions)]

    def describe(
        self, row: Row, positions: int, tokenizer: Tokenizer, unit: LinkUnit, source: Raw | None
    ) -> ReadSource:
        """Returns a source as alignments and delays see it; in the default each position arrives alone.

        source: what the caller passed; None where that is not known, and the row has to say it.
        """
        labels = self.labels(row, positions, tokenizer)
        length = self.length(row)
        arrivals = functools.partial(np.ones, length, np.int64)
        drawn = functools.partial(self.backdrop, row, positions, source)
        return ReadSource(labels, [*range(positions)], arrivals, length, self.milliseconds or 1, drawn)

    def backdrop(self, row: Row, positions: int, source: Raw | None) -> Backdrop | None:
        """Returns what attention to the positions of a row is drawn on; None for a table of `labels`. source: as in
        `describe`."""
        return None

    def arriving(self, tokenizer: Tokenizer, unit: Unit, needed: Callable[[int], int]) -> Arriving:
        """Returns a source that arrives part by part. unit: the parts of a text. needed: how many positions must have
        come for so many vectors, see `Frontend.needed`. Raises UserError where its sources cannot arrive so."""
        raise UserError("a stream is of text or of sound, and this model reads neither: translate whole files")

    def blank(self, row: Row) -> bool:
        """Returns whether a row holds nothing to translate."""
        return len(row) == 0
