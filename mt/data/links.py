"""Word links of training pairs, from lines of Pharaoh format to pieces.

Preparation spreads the links of words over their pieces (`links_of_pieces`), and where other pieces are drawn in every
epoch they follow (`moved`).
"""

import itertools
import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mt.data.tokenizer import LinkUnit, Tokenizer, Tokenizers, units
from mt.text_io import normalize

_LINK = re.compile(r"([0-9]+)[-p]([0-9]+)")


def links_of(line: str) -> list[tuple[int, int]]:
    """Returns the (source, target) links of a line, sure and possible ones. Raises ValueError, with the token, where
    one is none."""
    links = []
    for token in line.split():
        match = _LINK.fullmatch(token)
        if match is None:
            raise ValueError(token)
        links.append((int(match[1]), int(match[2])))
    return links


def links_of_pieces(
    lines: Sequence[str], sources: Sequence[str], targets: Sequence[str], tokenizers: Tokenizers, unit: LinkUnit
) -> pa.ListArray:
    """Returns for each pair the links between its pieces, each piece of a word with each of the word that it is linked
    to: a list [2K] of source and target positions in turn. lines: the links of their words. unit: what these are."""
    sides = [_Positions(tokenizer, unit) for tokenizer in (tokenizers.source, tokenizers.target)]
    rows = []
    for line, *texts in zip(lines, sources, targets, strict=True):
        words = links_of(line)
        source, target = (side.of(text) if words else [] for side, text in zip(sides, texts, strict=True))
        pairs = {pair for i, j in words for pair in itertools.product(source[i], target[j])}
        rows.append([*itertools.chain.from_iterable(sorted(pairs))])
    return pa.array(rows, pa.list_(pa.int32()))


class _Positions:
    """Where the pieces of the words of texts are. What stands between blanks is cut once, however often it occurs."""

    def __init__(self, tokenizer: Tokenizer, unit: LinkUnit) -> None:
        self._tokenizer = tokenizer
        self._unit = unit
        self._known: dict[str, tuple[list[int | None], int]] = {}

    def of(self, text: str) -> list[list[int]]:
        """Returns the positions of the pieces of each word; none of one that shares its piece with another."""
        positions: list[list[int]] = []
        begin = 0
        for word in normalize(text).split():
            if word not in self._known:
                self._known[word] = self._tokenizer.unit_ids(word, self._unit)[:-1], len(units(word, self._unit))
            numbers, count = self._known[word]
            for number in range(count):
                positions.append([begin + place for place, owner in enumerate(numbers) if owner == number])
            begin += len(numbers)
        return positions


def moved(
    links: np.ndarray, best: Sequence[np.ndarray], drawn: Sequence[np.ndarray], widths: Sequence[np.ndarray]
) -> np.ndarray:
    """Returns links [K, 2] between other pieces of the same two texts: those that share characters with linked ones.

    best, drawn: the (source, target) ids that the links join, and the ids that they are to join. widths: the characters
    of each piece of the (source, target) vocabulary.
    """
    for side, (before, after) in enumerate(zip(best, drawn, strict=True)):
        if before is after or np.array_equal(before, after):
            continue
        # A piece shares characters with those from that of its first character to that of its last one.
        ends = np.cumsum(widths[side][before])
        drawn_ends = np.cumsum(widths[side][after])
        first = np.searchsorted(drawn_ends, ends - widths[side][before], side="right")[links[:, side]]
        last = np.searchsorted(drawn_ends, ends - 1, side="right")[links[:, side]]
        counts = last - first + 1
        links = np.repeat(links, counts, axis=0)
        links[:, side] = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(len(links))
    return np.unique(links, axis=0)
