"""Learnt tags: numbered symbols between the pieces of a text, which stand for the tags of marked-up text.

A model learns them from tags that training puts around linked phrases of a pair (Hanneman & Dinu 2020, "How Should
Markup Tags Be Translated?"). The pieces of a text are the same with tags and without."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mt.data.links import phrase

_SHORTER = 0.25
"""Probability that a phrase with a tag has no further linked piece: 4 on the average, some 2.5 words."""
_FEWER = 0.6
"""Probability that a pair has no further tag."""
_EMPTY = 0.2
"""Share of empty tags."""


class Mark(NamedTuple):
    """A pair of tags around pieces of a text, or an empty tag at the gap before a piece."""

    number: int
    begin: int
    """The piece that it stands before."""
    end: int
    """The piece that a pair is closed before; the beginning of an empty one."""

    @property
    def empty(self) -> bool:
        return self.begin == self.end

    def relation(self, other: "Mark") -> str:
        """Returns how it stands to another: apart, inside, around, or crossing."""
        if self.end <= other.begin or other.end <= self.begin:
            return "apart"
        if other.begin <= self.begin and self.end <= other.end:
            return "inside"
        return "around" if self.begin <= other.begin and other.end <= self.end else "crossing"


def inserted(row: np.ndarray, marks: Sequence[Mark], symbols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns ids with the symbols of tags between them, and where each id has gone.

    row: [L], EOS last. marks: nested, outer ones first. symbols: see `Tokenizer.tags`.
    """
    # At one gap, what ends stands before what is empty, and that before what begins.
    parts = []
    for order, mark in enumerate(marks):
        opening, closing, empty = symbols[mark.number].tolist()
        if mark.empty:
            parts.append((mark.begin, 1, 0, order, empty))
        else:
            parts.append((mark.begin, 2, -mark.end, order, opening))
            parts.append((mark.end, 0, -mark.begin, -order, closing))
    parts.sort()
    gaps = np.array([gap for gap, *_ in parts], np.int64)
    with_tags = np.insert(row, gaps, [part[-1] for part in parts])
    return with_tags, np.arange(len(row)) + np.searchsorted(gaps, np.arange(len(row)), side="right")


def spread(units: list[int | None], ids: Sequence[int], symbols: np.ndarray) -> list[int | None]:
    """Returns the units of the pieces of a text for ids that may have tags between those of the pieces."""
    if len(units) == len(ids):
        return units
    waiting = iter(units)
    tags = {*symbols.ravel().tolist()}
    return [None if i in tags else next(waiting, None) for i in ids]


def found(ids: Sequence[int], symbols: np.ndarray) -> dict[int, tuple[int, int]]:
    """Returns where the symbols of each tag stand among ids, of an empty one its place twice.

    A tag that is there twice, or without one of its two symbols, or closed before it is opened, is not among them.
    """
    places: dict[int, list[int]] = {symbol: [] for symbol in symbols.ravel().tolist()}
    for place, token in enumerate(ids):
        if token in places:
            places[token].append(place)
    tags = {}
    for number, of_tag in enumerate(symbols.tolist()):
        opening, closing, empty = (places[symbol] for symbol in of_tag)
        if len(opening) == len(closing) == 1 and not empty and opening[0] < closing[0]:
            tags[number] = (opening[0], closing[0])
        elif len(empty) == 1 and not opening and not closing:
            tags[number] = (empty[0], empty[0])
    return tags


def drawn(links: np.ndarray, count: int, random: np.random.Generator) -> tuple[list[Mark], list[Mark]]:
    """Returns tags around phrases of the (source, target) of a pair, one to a few; none where it has no links.

    links: [K, 2]. count: the tags that the vocabulary has. Each phrase is consistent with the links. Tags are nested on
    both sides alike, outer ones first.
    """
    linked = np.unique(links[:, 0])
    chosen: list[tuple[Mark, Mark]] = []
    several = int(random.geometric(_FEWER)) if len(linked) else 0
    for number in random.permutation(count)[:several].tolist():
        first = int(random.integers(len(linked)))
        last = min(first + int(random.geometric(_SHORTER)) - 1, len(linked) - 1)
        empty = random.random() < _EMPTY
        spans = phrase(links, int(linked[first]), int(linked[last]))
        marks = [Mark(number, begin, begin if empty else end) for begin, end in spans]
        relations = [[mine.relation(his) for mine, his in zip(marks, other, strict=True)] for other in chosen]
        if all(source == target != "crossing" for source, target in relations):
            chosen.append((marks[0], marks[1]))
    chosen.sort(key=lambda pair: pair[0].begin - pair[0].end)
    return [source for source, _ in chosen], [target for _, target in chosen]


def tagged(
    pair: tuple[np.ndarray, np.ndarray],
    links: np.ndarray,
    symbols: tuple[np.ndarray, np.ndarray],
    random: np.random.Generator,
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Returns a (source, target) pair with drawn tags, and its links with those of the tags.

    symbols: of the (source, target) vocabulary.
    """
    marks = drawn(links, min(map(len, symbols)), random)
    if not marks[0]:
        return pair, links
    source, target = (inserted(*side) for side in zip(pair, marks, symbols, strict=True))
    moved_links = np.stack((source[1][links[:, 0]], target[1][links[:, 1]]), 1)
    # A tag is linked to itself: its symbols come in one order on both sides.
    of_tags = [
        (int(i), int(j))
        for number in sorted(mark.number for mark in marks[0])
        for before, after in zip(symbols[0][number], symbols[1][number], strict=True)
        for i in np.flatnonzero(source[0] == before)
        for j in np.flatnonzero(target[0] == after)
    ]
    return (source[0], target[0]), np.concatenate((moved_links, np.array(of_tags).reshape(-1, 2)))
