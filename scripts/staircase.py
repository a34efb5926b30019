"""Translate while the source is still arriving, and draw what is read and written as a staircase of text.

    python scripts/staircase.py RUN [--audio FILE] [options of stream.py]

What was read stands on the treads, what was then written at the risers; of sound, the second up to which it was read:

    Ein Mann schläft ┓ A
                     ┗ auf ┓ man
                           ┃ is
                           ┗ einem ┓ sleeping

A picture of the read and write path of simultaneous translation (as in Ma et al. 2019, figure 1), for a terminal.
"""

import mt.cli.startup  # isort: skip # noqa: F401 - Ctrl-C ends at once while modules load
import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal, TextIO

import regex

from mt.cli.decode import stream

Event = tuple[Literal["read", "write"], str]
"""A source word that was read, or a target word that was written."""

_NARROWEST = 16
"""Columns that a drawing has at least, whatever the terminal says."""
_UNKNOWN = 80
"""Columns of what is no terminal, or does not say."""
_JOINERS = "\u200c\u200d"


class Staircase:
    """Lays out events one after another, in time and memory that do not grow with what came before.

    A line is finished when a word is written, and never changes then. Where the stairs reach the right edge they go on
    from the left one.
    """

    def __init__(self, width: int = _UNKNOWN) -> None:
        """width: columns to fit into."""
        self.width = max(width, _NARROWEST)
        self._left = 0
        self._lead = ""
        self._tread = ""

    def add(self, event: Event) -> list[str]:
        """Returns the lines that this event finishes: one for each word written, and one for each that reading has
        filled."""
        kind, word = event
        return self._read(self._cut(word)) if kind == "read" else self._write(self._cut(word))

    def end(self) -> list[str]:
        """Returns the lines that are left at the end of a source; the next one starts new stairs."""
        left = [self._line()] if self._tread else []
        self._left = 0
        self._lead = ""
        self._tread = ""
        return left

    def _read(self, word: str) -> list[str]:
        longer = f"{self._tread} {word}".lstrip()
        finished = []
        if not self._fits(longer):
            self._left = 0
        if not self._fits(longer):
            finished, longer, self._lead = [self._line()], word, " " * len(self._lead)
        self._tread = longer
        return finished

    def _write(self, word: str) -> list[str]:
        # A step down from what was read before it, or a word below the one that was written before.
        finished = []
        if not self._tread:
            self._lead = ""
        step = f"{self._tread} ┓ {word}" if self._tread else f"┃ {word}"
        # Where there is no room to the right, the staircase begins anew at the margin. Where even there both do not
        # fit, the words that were read have a line of their own.
        if not self._fits(step):
            self._left = 0
        if not self._fits(step):
            finished = [self._line()]
            self._lead = ""
            self._tread = ""
        gap, riser = (" ", "┓") if self._tread else ("", "┃")
        finished.append(f"{self._line()}{gap}{riser} {word}")
        # The next step begins below the word.
        self._left += columns(self._lead + self._tread + gap)
        self._lead = "┗ "
        self._tread = ""
        return finished

    def _line(self) -> str:
        return f"{' ' * self._left}{self._lead}{self._tread}"

    def _fits(self, step: str) -> bool:
        return self._left + columns(self._lead + step) <= self.width

    def _cut(self, word: str) -> str:
        """Returns the word, cut so that another has room beside it, with nothing in it that moves a cursor."""
        room = (self.width - 5) // 2
        shown = "".join(" " if letter.isspace() else letter if _drawn(letter) else "�" for letter in word.strip())
        if columns(shown) <= room:
            return shown
        beginning = ""
        used = 1
        for cluster in regex.findall(r"\X", shown):
            used += columns(cluster)
            if used > room:
                break
            beginning += cluster
        return f"{beginning}…"


class Show:
    """Writes a staircase while it grows: each line when it is finished."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        # The last column of a terminal stays free: a full line would make the cursor wrap.
        columns = os.get_terminal_size(file.fileno()).columns if file.isatty() else 0
        self._stairs = Staircase(columns - 1 if columns else _UNKNOWN)

    def add(self, events: Iterable[Event]) -> None:
        """Draws what was read and written since."""
        self._draw([line for event in events for line in self._stairs.add(event)])

    def end(self) -> None:
        """Ends the stairs of one source, with a blank line."""
        self._draw([*self._stairs.end(), ""])

    def _draw(self, finished: list[str]) -> None:
        self._file.write("".join(f"{line}\n" for line in finished))
        self._file.flush()


def staircase(events: Iterable[Event], width: int = _UNKNOWN) -> list[str]:
    """Returns the lines of the staircase of one source, as plain text.

    >>> print("\\n".join(staircase([("read", "Guten"), ("read", "Tag"), ("write", "Hello"), ("write", ".")])))
    Guten Tag ┓ Hello
              ┃ .
    """
    stairs = Staircase(width)
    return [line for event in events for line in stairs.add(event)] + stairs.end()


def columns(text: str) -> int:
    """Returns how many columns of a terminal a text takes: East Asian wide characters two, combining marks none."""
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text if not _combines(letter))


def _combines(letter: str) -> bool:
    return letter in _JOINERS or unicodedata.category(letter) in ("Mn", "Me")


def _drawn(letter: str) -> bool:
    return letter.isprintable() or letter in _JOINERS


def main(arguments: Sequence[str] | None = None) -> None:
    stream(arguments, __doc__ or "", Show(sys.stdout))


if __name__ == "__main__":
    main()
