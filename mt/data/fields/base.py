"""What a field of a corpus is: how one side of its examples is read, stored, measured, made into batches, labelled."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from mt.common.backdrop import Backdrop
from mt.common.options import Options
from mt.data.tokenizer import LinkUnit, Tokenizer, Unit
from mt.errors import UserError

if TYPE_CHECKING:  # preparation, which stores fields, would wait for torch
    from torch import Tensor

    from mt.data.fields.arriving import Arriving

Raw = str | Path | bytes | np.ndarray
"""What people give: a text; the path of a sound or a picture, the bytes of such a file, or its samples or pixels."""
Row = Sequence[int] | np.ndarray
"""What a model is given of one example."""


class SourceError(UserError):
    """A file that cannot be read as what it should be.

    `reason` says why training can do without it, where it can: a pair that cleaning drops.
    """

    def __init__(self, sentence: str, reason: str | None = None) -> None:
        super().__init__(sentence, reason)
        self.reason = reason
        self.source: str | None = None
        """What the corpus calls it, where it is of one."""

    def __str__(self) -> str:
        return str(self.args[0])


class ReadSource(NamedTuple):
    """A source as alignments and delays see it."""

    labels: Sequence[str]
    """What each place is called."""
    units: Sequence[int | None]
    """Which unit, as a word, each place belongs to; None for none."""
    arrivals: Sequence[int] | np.ndarray
    """How many positions come with each of the parts that a source arrives in, as words."""
    part: int = 1
    """What such a part counts in delays: 1 where it is a word, or its milliseconds."""
    backdrop: Callable[[], Backdrop | None] | None = None
    """What its attention is drawn on, made when it is; None for a table."""


class Field(ABC):
    """One side of the examples of a corpus, made of its options alone.

    A row is one example's. `tokenizer` is that of the side where the field is text, and is not used by others.
    """

    Config: ClassVar[type[Options]]
    arrow_type: pa.DataType
    """Of its column in a prepared corpus."""
    written: ClassVar[bool] = False
    """Whether it is text: it has words to count, and a vocabulary."""
    endings: ClassVar[tuple[str, ...]] = ()
    """Of the names of files that are each a source."""
    milliseconds: ClassVar[int | None] = None
    """Of a position; None where sources have no time. Delays count milliseconds then."""
    shard_size: int | None = None
    """Most examples that are prepared at a time; None leaves it to their characters."""

    @abstractmethod
    def encode(self, sources: Sequence[Raw], tokenizer: Tokenizer | None) -> Sequence[Row]:
        """The rows of what people give. Raises `SourceError` where one cannot be read. tokenizer: None if no text."""

    def require_readable(self, source: Raw) -> None:
        """Raises `SourceError` where `encode` does, of a source that is no text; with no more work than that takes."""
        self.encode([source], None)

    @abstractmethod
    def column(self, sources: Sequence[str], tokenizer: Tokenizer | None, opened: Callable[[str], Raw]) -> pa.Array:
        """Returns the rows of a corpus' sources as a column, where null is the row of the example before.

        opened: returns what `encode` reads for a source. Raises `SourceError`, with its `source`, where one cannot be
        read.
        """

    @abstractmethod
    def lengths(self, column: pa.ChunkedArray) -> np.ndarray:
        """[N] int64: the positions of each row, by which batches are made; that of None is 0."""

    @abstractmethod
    def length(self, row: Row) -> int:
        """The positions of a row."""

    @abstractmethod
    def rows(self, column: pa.ChunkedArray) -> list[np.ndarray]:
        """The rows of a column, each [positions, ...]."""

    @abstractmethod
    def collate(self, rows: Sequence[Row]) -> tuple[Tensor, Tensor]:
        """The rows as one tensor [B, S, ...], padded on the right, and the mask [B, S] bool of real positions."""

    @abstractmethod
    def labels(self, row: Row, places: int, tokenizer: Tokenizer) -> list[str]:
        """What to write in a picture beside each of the places that a model has made of a row."""

    def units(self, places: int, tokenizer: Tokenizer, unit: LinkUnit, source: Raw) -> list[int | None]:
        """Which unit, as a word, each of these places belongs to, None for none; by itself each is its own.

        source: what people gave.
        """
        return [*range(places)]

    def read(self, row: Row, places: int, tokenizer: Tokenizer, unit: LinkUnit, source: Raw | None) -> ReadSource:
        """A source as alignments and delays see it; by itself each position comes on its own.

        source: what people gave; where it is not known, what the row says of it.
        """
        labels = self.labels(row, places, tokenizer)
        arrivals = np.ones(self.length(row), np.int64)
        drawn = functools.partial(self.backdrop, row, places, source)
        return ReadSource(labels, [*range(places)], arrivals, self.milliseconds or 1, drawn)

    def backdrop(self, row: Row, places: int, source: Raw | None) -> Backdrop | None:
        """What attention to these places of a row is drawn on; None for a table of `labels`. source: as in `read`."""
        return None

    def arriving(self, tokenizer: Tokenizer, unit: Unit, needed: Callable[[int], int]) -> Arriving:
        """A source that comes bit by bit. unit: what comes of a text. needed: how many positions must have come for so
        many vectors, see `Frontend.needed`. Raises UserError where its sources do not come so."""
        raise UserError("a stream is of text or of sound, and this model reads neither: translate whole files")

    @abstractmethod
    def blank(self, row: Row) -> bool:
        """Whether there is nothing in it to translate."""
