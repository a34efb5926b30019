"""What a source of raw pairs is."""

import itertools
from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

from mt.data.corpus import Example


class Source(Protocol):
    """Raw pairs in three splits, `train`, `dev` and `test`, that can be read any number of times."""

    def identity(self) -> str:
        """Changes when the raw text changes."""

    def size(self, split: str) -> int:
        """The number of pairs."""

    def examples(self, split: str) -> Iterator[Example]:
        """The pairs in order, read as they are asked for."""

    def examples_at(self, split: str, rows: Iterable[range]) -> Iterator[Example]:
        """The pairs of these rows, counted from 0, in ranges that ascend."""
        return at(self.examples(split), rows)

    def portions(self) -> list[int]:
        """The training pairs of each of the corpora that it is mixed of."""
        return [self.size("train")]

    def columns(self, split: str) -> Collection[str]:
        """What can be read of a split: the endings of its files, or the columns of its table."""

    def places(self, split: str) -> tuple[str, str]:
        """What to call a line of either side in an error, up to its number (from 1)."""

    def notes(self) -> list[str]:
        """Sentences on what reading silently puts right, to be told once."""


def at(examples: Iterator[Example], rows: Iterable[range]) -> Iterator[Example]:
    """The examples of these rows; those between are read, too."""
    passed = 0
    for run in rows:
        yield from itertools.islice(examples, run.start - passed, run.stop - passed)
        passed = run.stop
