"""What raw text is: splits that can be read again and again, and what all of it is called in errors and fingerprints.

A kind of source is a function that returns a `Source`; a step of preparation is a function that returns it with some
of its splits changed (`data_prep.sources.steps`).
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mt.data.corpus import Example

Records = Iterator[tuple[str, Example]]
"""Pairs, each with its origin in words: `train.tsv, line 3`."""


class Read(Protocol):
    """Reads the pairs of a split in order, as they are asked for."""

    def __call__(self, rows: Iterable[range] | None = None) -> Iterator[Example]:
        """Yields all pairs; or those of `rows` alone, which are counted from 0, in ranges that ascend."""


@dataclass(frozen=True)
class RawSplit:
    """The raw pairs of one split. They can be read any number of times."""

    read: Read
    size: Callable[[], int]
    """Counts the pairs; 0 for a stream that does not know."""
    sides: tuple[str, str]
    """What to call a line of either side in an error, up to its number (from 1)."""
    columns: Callable[[], Collection[str]] = tuple
    """Names what can be read: the endings of the files, or the columns of the table."""
    records: Callable[[], Records] = lambda: iter(())
    """Reads the files themselves, before any step: of splits that are files."""
    holds_media: Callable[[], bool] = lambda: False
    """Whether the sources of `records` are cells of the table itself, which hold sounds or pictures."""


@dataclass(frozen=True)
class Source:
    """Raw pairs in the splits `train`, `dev` and `test`."""

    splits: Mapping[str, RawSplit]
    identity: Callable[[], str]
    """Changes when the raw text changes."""
    notes: Callable[[], list[str]] = list
    """Sentences on what reading silently puts right, to be printed once."""
    mixed: tuple[RawSplit, ...] = ()
    """The training pairs of each corpus, where train is a mixture of several."""


def from_list(
    examples: Callable[[], Sequence[Example]], sides: tuple[str, str], columns: Callable[[], Collection[str]] = tuple
) -> RawSplit:
    """Returns the split that holds a list, which is made only when it is asked for."""
    return RawSplit(reading(lambda: iter(examples())), lambda: len(examples()), sides, columns)


def reading(examples: Callable[[], Iterator[Example]]) -> Read:
    """Returns what reads some rows by passing over those between."""

    def read(rows: Iterable[range] | None = None) -> Iterator[Example]:
        return examples() if rows is None else at(examples(), rows)

    return read


def at(examples: Iterator[Example], rows: Iterable[range]) -> Iterator[Example]:
    """Yields the examples of these rows; those between are read, too."""
    passed = 0
    for run in rows:
        yield from itertools.islice(examples, run.start - passed, run.stop - passed)
        passed = run.stop
