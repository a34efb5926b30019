"""Text: ids of tokens, EOS last.

`TextField` encodes texts by a tokenizer, stores and pads their ids, and says when each word of a source arrives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from mt.common.options import Options
from mt.data.fields.arriving import ArrivingText
from mt.data.fields.base import Field, Raw, ReadSource, Row
from mt.data.tags import spread
from mt.data.tokenizer import LinkUnit, Tokenizer, Unit


class TextConfig(Options):
    name: Literal["text"] = "text"


class TextField(Field):
    """Rows are int32 arrays of ids that end in EOS; a batch is [B, S] int64, padded with 0."""

    Config: ClassVar[type[Options]] = TextConfig
    batch_dtype = np.int64
    written = True

    def __init__(self, config: TextConfig | None = None) -> None:
        super().__init__(np.int32)

    def encode(self, sources: Sequence[Raw], tokenizer: Tokenizer | None) -> list[list[int]]:
        if tokenizer is None:
            raise ValueError("text is cut by a tokenizer")
        return tokenizer.encode(sources)  # type: ignore[arg-type]  # texts are strings

    def column(
        self, sources: Sequence[str], tokenizer: Tokenizer | None, opened: Callable[[str], Raw] = str
    ) -> pa.Array:
        if tokenizer is None:
            raise ValueError("text is cut by a tokenizer")
        return tokenizer.encode_column(sources)

    def labels(self, row: Row, positions: int, tokenizer: Tokenizer) -> list[str]:
        return tokenizer.pieces([int(i) for i in row])

    def units(self, positions: int, tokenizer: Tokenizer, unit: LinkUnit, source: Raw) -> list[int | None]:
        return tokenizer.unit_ids(str(source), unit)

    def describe(
        self, row: Row, positions: int, tokenizer: Tokenizer, unit: LinkUnit, source: Raw | None
    ) -> ReadSource:
        """Returns a source whose words (what stands between blanks) arrive whole."""
        ids = [int(i) for i in row]
        text = tokenizer.decode(ids) if source is None else str(source)
        of_text = None if source is None else spread(tokenizer.unit_ids(text, unit), ids, tokenizer.tags)
        units = tokenizer.decoded_unit_ids(ids, unit) if of_text is None else of_text
        return ReadSource(tokenizer.pieces(ids), units, functools.partial(_arrivals, text, tokenizer), len(ids))

    def arriving(self, tokenizer: Tokenizer, unit: Unit, needed: Callable[[int], int]) -> ArrivingText:
        return ArrivingText(tokenizer, unit)

    def blank(self, row: Row) -> bool:
        return len(row) <= 1


TEXT = TextField()


def _arrivals(text: str, tokenizer: Tokenizer) -> list[int]:
    """Counts the ids that come with each word of a text: with words that show nothing none, until one shows something;
    see `ArrivingText.row`."""
    arriving = ArrivingText(tokenizer, "word")
    return [len(arriving.row(word)) for word in tokenizer.masked(text).split()]
