"""Sources that are still arriving, cut into parts: words of a text, stretches of a sound."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mt.data.fields.base import Row
from mt.data.fields.inputs import as_list, require_writable
from mt.data.fields.samples import framed
from mt.data.tokenizer import EOS, UNK, Tokenizer, Unit
from mt.errors import UserError


class Arriving(ABC):
    """One source that comes bit by bit. However it is cut on its way, its parts are the same."""

    read = 0
    """How much of it was read: words, or milliseconds of sound."""

    @abstractmethod
    def parts(self, data: Any) -> Sequence[Any]:
        """Returns what is complete with `data`: each part is to be read before the next. Raises UserError where that is
        no source."""

    @abstractmethod
    def row(self, part: Any) -> Row:
        """Returns the positions of a part, which may be none."""

    @abstractmethod
    def mark_read(self, part: Any) -> str | None:
        """Notes that a part is read; returns what to call it in a record, None where it has no name."""

    @abstractmethod
    def unreported(self) -> str | None:
        """Names all that was read since this was asked last, where parts have no names; None: nothing was."""

    @abstractmethod
    def rest(self) -> Row | None:
        """Returns the last positions, which are read with the end: of text EOS. None of a blank source."""


class ArrivingText(Arriving):
    """Cuts words, or the characters of a model of characters, as `Tokenizer.encode` cuts the text that they make, and
    so that nothing that follows could change the cut."""

    def __init__(self, tokenizer: Tokenizer, unit: Unit) -> None:
        self._tokenizer = tokenizer
        self._unit = unit
        self._blank = True
        self._last: int | None = None  # the id before, inside of a word of which characters have come

    def parts(self, data: Any) -> list[str]:
        """Returns the words of a text or of several, or their characters, among them blanks, which end words."""
        parts: list[str] = []
        for text in as_list(data)[0]:
            if not isinstance(text, str):
                raise UserError(f"this model reads text, not {type(text).__name__}: give it words")
            require_writable(text, "the text")
            parts += text.split() if self._unit == "word" else text
        return parts

    def row(self, part: str) -> list[int]:
        """Returns the ids of one of `parts`; none of a blank, nor of an unknown character after another."""
        ids = self._tokenizer.encode_word(part) if self._unit == "word" else self._character(part)
        self._blank = self._blank and not ids
        return ids

    def _character(self, part: str) -> list[int]:
        if part.isspace():
            self._last = None
            return []
        first = self._last is None
        ids = self._tokenizer.encode_word(part) if first else self._tokenizer.encode_character(part)
        if ids == [UNK] == [self._last]:  # unknown characters in a row are one token
            return []
        self._last = ids[-1] if ids else self._last
        return ids

    def mark_read(self, part: str) -> str | None:
        if part.isspace():
            return None
        self.read += 1
        return part

    def unreported(self) -> None:
        return None

    def rest(self) -> list[int] | None:
        return None if self._blank else [EOS]


class ArrivingSound(Arriving):
    """Keeps samples until they are as many positions as the next vector of the front-end needs."""

    def __init__(
        self, hop: int, milliseconds: int, needed: Callable[[int], int], samples: Callable[[Any], np.ndarray]
    ) -> None:
        """hop: samples of a position; milliseconds: of a position. needed: how many positions must have come for so
        many vectors. samples: makes [N] int16 of what comes."""
        self._hop = hop
        self._milliseconds = milliseconds
        self._needed = needed
        self._samples = samples
        self._waiting = np.zeros(0, np.int16)
        self._cut = self._vectors = self._reported = 0

    def parts(self, data: Any) -> list[np.ndarray]:
        samples = self._samples(data)
        self._waiting = np.concatenate((self._waiting, samples)) if len(self._waiting) else samples
        parts = []
        begin = 0
        while True:
            positions = self._needed(self._vectors + 1) - self._cut
            end = begin + positions * self._hop
            if end > len(self._waiting):
                break
            parts.append(self._waiting[begin:end].reshape(positions, self._hop))
            begin = end
            self._cut += positions
            self._vectors += 1
        self._waiting = self._waiting[begin:].copy() if begin else self._waiting
        return parts

    def row(self, part: np.ndarray) -> np.ndarray:
        return part

    def mark_read(self, part: np.ndarray) -> None:
        self.read += self._milliseconds * len(part)

    def unreported(self) -> str | None:
        """Names the second up to which it was read."""
        if self.read == self._reported:
            return None
        self._reported = self.read
        return f"{self.read / 1000:.2f}"

    def rest(self) -> np.ndarray | None:
        """Returns the samples that are left, with silence up to a whole position."""
        if not self._cut and not len(self._waiting):
            return None
        row = framed(self._waiting, self._hop)
        self.read += self._milliseconds * len(row)
        return row
