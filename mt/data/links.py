"""Word links of training pairs, from lines of Pharaoh format to pieces, and one alignment out of two.

Preparation spreads the links of words over their pieces (`links_of_pieces`), and where other pieces are drawn in every
epoch they follow (`moved`). `symmetrised` joins the links of two directions.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence, Set
from typing import Literal

import numpy as np
import pyarrow as pa

from mt.data.tokenizer import LinkUnit, Tokenizer, Tokenizers

Link = tuple[int, int]
_LINK = re.compile(r"([0-9]{1,9})[-p]([0-9]{1,9})")


def links_of(line: str) -> list[Link]:
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
    """Returns for each pair the links between its pieces: a list [2K] of source and target positions in turn. Each
    piece of a word is linked to each piece of the linked word. lines: the links of their words. unit: what these
    are."""
    sides = tokenizers.source, tokenizers.target
    rows = []
    for line, *texts in zip(lines, sources, targets, strict=True):
        words = links_of(line)
        pairs: set[Link] = set()
        if words:
            source, target = (_positions(tokenizer, text, unit) for tokenizer, text in zip(sides, texts, strict=True))
            pairs = {pair for i, j in words for pair in itertools.product(source[i], target[j])}
        rows.append([*itertools.chain.from_iterable(sorted(pairs))])
    return pa.array(rows, pa.list_(pa.int32()))


def _positions(tokenizer: Tokenizer, text: str, unit: LinkUnit) -> dict[int, list[int]]:
    """Returns the positions of the pieces of each word of a text; none of a word that shares its piece with another."""
    positions: dict[int, list[int]] = defaultdict(list)
    for place, number in enumerate(tokenizer.unit_ids(text, unit)):
        if number is not None:
            positions[number].append(place)
    return positions


def moved(
    links: np.ndarray, best: Sequence[np.ndarray], drawn: Sequence[np.ndarray], widths: Sequence[np.ndarray]
) -> np.ndarray:
    """Returns links [K, 2] between other pieces of the same two texts: those that share characters with linked ones.

    best, drawn: the (source, target) ids that the links join, and the ids that they are to join. widths: the characters
    of each piece of the (source, target) vocabulary.
    """
    for side, (best_ids, drawn_ids) in enumerate(zip(best, drawn, strict=True)):
        if best_ids is drawn_ids or np.array_equal(best_ids, drawn_ids):
            continue
        # A piece shares characters with those from that of its first character to that of its last one.
        ends = np.cumsum(widths[side][best_ids])
        drawn_ends = np.cumsum(widths[side][drawn_ids])
        first_drawn = np.searchsorted(drawn_ends, ends - widths[side][best_ids], side="right")[links[:, side]]
        last_drawn = np.searchsorted(drawn_ends, ends - 1, side="right")[links[:, side]]
        counts = last_drawn - first_drawn + 1
        links = np.repeat(links, counts, axis=0)
        links[:, side] = np.repeat(first_drawn - np.cumsum(counts) + counts, counts) + np.arange(len(links))
    return np.unique(links, axis=0)


# Symmetrisation: one alignment out of those of the two directions.

Symmetrisation = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]
"""The ways to make one alignment of two."""
_DIAGONALS = ((-1, 1), (-1, -1), (1, -1), (1, 1))
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), *_DIAGONALS)


def symmetrised(forward: Set[Link], reverse: Set[Link], method: Symmetrisation) -> set[Link]:
    """Returns the symmetrisation of two alignments of a sentence pair (Och & Ney 2003, section 5; Koehn et al. 2003).

    `grow-diag` adds to the intersection links of the union that touch a link at a corner, where neither word has a link
    yet. `grow-diag-final` then adds links of the forward alignment, and after them of the reverse one, between words
    without a link. Both are those of the published FastAlign and Giza results (lilt's alignment-scripts), in their
    order. `grow-diag-final-and` is that of fast_align's `atools`, in its order. A link grows from any of its eight
    neighbours, also where one of its words has a link. Its last step is that of `grow-diag-final`.

    Args:
        forward: the links of the model that reads the source.
        reverse: the links of the model that reads the target, each (source, target) all the same.
    """
    union = {*forward, *reverse}
    links = {*forward} & {*reverse}
    if method == "intersection":
        return links
    if method == "union":
        return union
    _grow(links, union, either=method == "grow-diag-final-and")
    if method != "grow-diag":
        for alignment in (forward, reverse):
            for link in sorted(alignment):
                if not any(_taken(links, link)):
                    links.add(link)
    return links


def _grow(links: set[Link], union: Set[Link], *, either: bool) -> None:
    """Adds links of the union beside those that there are, until there are none. either: whether one word without a
    link is enough. What is added first keeps others out, so the order of both loops is that of the implementations."""
    links_before = -1
    while links_before != len(links):
        links_before = len(links)
        if either:  # Each candidate looks for a neighbour.
            for i, j in sorted(union - links):
                if not all(_taken(links, (i, j))) and any((i + di, j + dj) in links for di, dj in _NEIGHBOURS):
                    links.add((i, j))
            continue
        for i, j in sorted(union):  # Each link looks for candidates, the links of this round among them.
            for link in ((i + di, j + dj) for di, dj in _DIAGONALS if (i, j) in links):
                if link in union and not any(_taken(links, link)):
                    links.add(link)


def _taken(links: Set[Link], link: Link) -> tuple[bool, bool]:
    return any(i == link[0] for i, _ in links), any(j == link[1] for _, j in links)
