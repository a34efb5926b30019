"""Text: ids of tokens, EOS last.

`TextField` encodes texts by a tokenizer, stores and pads their ids, and counts the ids that arrive with each word.
`ArrivingText` cuts a text that arrives word by word or character by character.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from mt.common.options import Options
from mt.data.fields.base import Arriving, Field, Raw, ReadSource, Row, as_list, require_writable
from mt.data.tokenizer import EOS, UNK, LinkUnit, Tokenizer, Unit
from mt.data.words import stands_alone
from mt.errors import UserError
from mt.text_io import is_blank


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

    def column(self, sources: Sequence[str], tokenizer: Tokenizer, opened: Callable[[str], Raw] = str) -> pa.Array:
        return tokenizer.encode_column(sources)

    def labels(self, row: Row, positions: int, tokenizer: Tokenizer) -> list[str]:
        return tokenizer.pieces([int(i) for i in row])

    def units(self, positions: int, tokenizer: Tokenizer, unit: LinkUnit, source: Raw) -> list[int | None]:
        return tokenizer.unit_ids(str(source), unit)

    def describe(
        self, row: Row, positions: int, tokenizer: Tokenizer, unit: LinkUnit, source: Raw | None
    ) -> ReadSource:
        """Describes a source whose words, between blanks, arrive one by one."""
        # Where only the row is known, its text is what the ids decode to.
        ids = [int(i) for i in row]
        text = tokenizer.decode(ids) if source is None else str(source)
        units = functools.partial(tokenizer.unit_ids, text, unit)
        if source is None:
            units = functools.partial(tokenizer.decoded_unit_ids, ids, unit)
        return ReadSource(tokenizer.pieces(ids), units, functools.partial(_arrivals, text, tokenizer), len(ids))

    def arriving(self, tokenizer: Tokenizer, unit: Unit, needed: Callable[[np.ndarray], np.ndarray]) -> ArrivingText:
        return ArrivingText(tokenizer, unit)

    def blank(self, row: Row) -> bool:
        return len(row) <= 1


class ArrivingText(Arriving):
    """Cuts a text that is still arriving by words, or by characters. The ids are those of `Tokenizer.encode` for the
    whole text, since later text never changes the cut of earlier text. A tokenizer that cuts words gets the characters
    of each word together. Only in scripts without blanks it gets each alone, and may have cut them otherwise."""

    def __init__(self, tokenizer: Tokenizer, unit: Unit) -> None:
        self._tokenizer = tokenizer
        self._unit = unit
        self._blank = True
        self._held: list[int] = []  # ids of invisible parts before the first visible one
        self._last: int | None = None  # the last id of the word whose characters are arriving
        self._word = ""  # the characters of a word that is cut as a whole

    def parts(self, data: Any) -> list[str]:
        """Returns the words of one or several texts, or their characters, with the blanks that end words."""
        parts: list[str] = []
        for text in as_list(data)[0]:
            if not isinstance(text, str):
                raise UserError(f"this model reads text, not {type(text).__name__}: give it words")
            require_writable(text, "the text")
            parts += text.split() if self._unit == "word" else text
        return parts

    def row(self, part: str) -> list[int]:
        """Returns the ids of a part. A blank has none, and neither has an unknown character after another.

        The ids of invisible parts at the beginning are held back, and come with the first visible part."""
        # What can be cut now: the part itself, or all of a word that it ends.
        self._word += part
        if not (self._unit == "word" or self._tokenizer.of_characters or part.isspace() or stands_alone(part)):
            return []
        text = self._word.strip()
        self._word = ""
        # The first character of a word may have a piece of its own, with the mark of a blank.
        encode = self._tokenizer.encode_word if self._last is None else self._tokenizer.encode_character
        ids = encode(text)
        if ids == [UNK] == [self._last]:  # unknown characters in a row are one token
            ids = []
        self._last = None if self._unit == "word" or part.isspace() else [self._last, *ids][-1]
        # A text of blanks or invisible characters alone is blank, and is not translated.
        if self._blank and is_blank(text):
            self._held += ids
            return []
        ids = [*self._held, *ids]
        self._held = []
        self._blank = self._blank and not ids
        return ids

    def mark_read(self, part: str) -> None:
        self.read += not part.isspace()

    def rest(self) -> list[int] | None:
        ids = self.row(" ") if self._word else []
        return None if self._blank else [*ids, EOS]


TEXT = TextField()


def _arrivals(text: str, tokenizer: Tokenizer) -> list[int]:
    """Counts the ids that arrive with each word of a text; see `ArrivingText.row`."""
    arriving = ArrivingText(tokenizer, "word")
    return [len(arriving.row(word)) for word in tokenizer.masked(text).split()]
