"""Word alignments: their formats (Pharaoh, NAACL), links of words out of links of pieces, and symmetrisation.

A link (i, j) joins source position i and target position j, both counted from 0. `mt.decoding.translation` makes links
of attention weights, `mt.metrics.alignment` scores them, and `mt.data.links` spreads the links of a corpus over pieces.
"""

import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mt.errors import UserError, shown

Link = tuple[int, int]
_NUMBER = "([0-9]{1,9})"
_TOKEN = re.compile(rf"{_NUMBER}([-p:]){_NUMBER}(/[01])?")
_NAACL = re.compile(rf"\s*{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}(?:\s+([SP]))?(?:\s+[0-9.]+)?\s*")


@dataclass(frozen=True)
class Links:
    """The links of one sentence pair. `possible` includes `sure`, as P includes S in Och & Ney (2003)."""

    sure: frozenset[Link]
    possible: frozenset[Link]


# Pharaoh's format: a line for each pair of sentences.


def parse_pharaoh(lines: Iterable[str], name: str, *, first: int = 0) -> list[Links]:
    """Reads one sentence pair per line, as `links_of` does. name: of the file, for an error."""
    return [links_of(line, f"{name}, line {number}", first=first) for number, line in enumerate(lines, start=1)]


def links_of(line: str, where: str = "the links", *, first: int = 0) -> Links:
    """Reads the links of one sentence pair: `i-j` is a sure link, `ipj` a possible one; TsinghuaAligner's `i:j/1` and
    `i:j/0` are the same two.

    where: the place of the line, for an error. first: the number of the first word in the line, 0 or 1; links are
    counted from 0 in any case. Raises UserError for what is no link.
    """
    sure = set()
    possible = set()
    for token in line.split():
        match = _TOKEN.fullmatch(token)
        # Only a colon has a slash behind it, and it must have one.
        if match is None or (match[2] == ":") != (match[4] is not None):
            raise UserError(
                f"{where}: {shown(repr(token))} is not a link; write i-j (sure) or ipj (possible), for source position "
                f"i and target position j, counted from {first}"
            )
        link = (int(match[1]) - first, int(match[3]) - first)
        if min(link) < 0:
            raise UserError(f"{where}: the link {token} names word 0, and words count from {first}")
        # A sure link is possible, too.
        possible.add(link)
        if match[2] == "-" or match[4] == "/1":
            sure.add(link)
    return Links(frozenset(sure), frozenset(possible))


def to_pharaoh(links: Iterable[Link]) -> str:
    """Writes links as one line of Pharaoh format, sorted, without the newline."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def require_inside(
    links: Links, lengths: Sequence[int], where: str, *, first: int = 0, advice: Callable[[], str] = str
) -> None:
    """Raises UserError where a link joins a word that is not there.

    lengths: the source and target words of the pair. where, first: as of `links_of`. advice: says what else to do."""
    source, target = lengths
    for i, j in sorted(links.possible):
        if i >= source or j >= target:
            raise UserError(
                f"{where}: the link {i + first}-{j + first} joins a word that is not there. The pair has {source} "
                f"source and {target} target words, which count from {first}: check that the links belong to these "
                f"texts{advice()}"
            )


def join_first_word(links: Iterable[Links]) -> bool:
    """Returns whether any link joins word 0. Where none does, the words of these links may count from 1."""
    return any(0 in link for of_pair in links for link in of_pair.possible)


# The format of the shared tasks of NAACL: a line for each link.


def is_naacl(lines: Iterable[str]) -> bool:
    """Returns whether the first line that is not blank is of the format of `parse_naacl`."""
    first_line = next((line for line in lines if line.strip()), "")
    return _NAACL.fullmatch(first_line) is not None


def parse_naacl(lines: Iterable[str], name: str, count: int) -> list[Links]:
    """Reads a link per line, `sentence source target [S|P] [confidence]`, all counted from 1 (Mihalcea & Pedersen 2003,
    the shared task of NAACL). Without a letter it is a sure link; one to word 0 says that a word has none.
    count: the sentence pairs. Raises UserError, with the line, for what is no link, and for another sentence."""
    sure: list[set[Link]] = [set() for _ in range(count)]
    possible: list[set[Link]] = [set() for _ in range(count)]
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        match = _NAACL.fullmatch(line)
        if match is None:
            raise UserError(
                f"{name}, line {number}: {shown(repr(line.strip()))} is no link of the NAACL format, as the first line "
                "is; write: SENTENCE SOURCE TARGET S (sure) or P (possible), all counted from 1"
            )
        # A link to word 0 is read, and joins nothing.
        sentence, i, j = (int(match[group]) for group in (1, 2, 3))
        if not 1 <= sentence <= count:
            raise UserError(f"{name}, line {number}: there is no sentence {sentence}, since there are {count} pairs")
        if i and j:
            possible[sentence - 1].add((i - 1, j - 1))
            if match[4] != "P":
                sure[sentence - 1].add((i - 1, j - 1))
    return [Links(*map(frozenset, of_pair)) for of_pair in zip(sure, possible, strict=True)]


# Words out of their pieces.


def project(links: Iterable[Link], source_words: Sequence[int | None], target_words: Sequence[int | None]) -> set[Link]:
    """Makes links between words of links between their pieces: two words are linked when any of their pieces are.

    source_words: [S], the word that each source piece belongs to, None for a piece of no word (EOS). target_words: [T].
    """
    pairs = ((source_words[i], target_words[j]) for i, j in links)
    return {(i, j) for i, j in pairs if i is not None and j is not None}


def positions_of_words(words: Sequence[int | None]) -> list[list[int]]:
    """Returns the positions of the pieces of each word, in the order of the words' first pieces; a piece of no word
    (EOS) stands alone. words: the word of each piece.

    >>> positions_of_words([0, 0, 2, None])
    [[0, 1], [2], [3]]
    """
    positions: dict[tuple[int, bool], list[int]] = {}
    for position, word in enumerate(words):
        # A piece of no word gets a key of its own, which no word has.
        key = (position, False) if word is None else (word, True)
        positions.setdefault(key, []).append(position)
    return [*positions.values()]


def weights_between_words(
    weights: np.ndarray, source: Sequence[int | None], target: Sequence[int | None]
) -> np.ndarray:
    """Returns attention weights between words, out of weights [T, S] between their pieces. A source word has the sum of
    what its pieces have, and a target word the mean. source: [S], target: [T], as in `project`."""
    # Attention on a source word is shared by its pieces; each target piece has a whole of it.
    columns = [weights[:, pieces].sum(1) for pieces in positions_of_words(source)]
    summed = np.stack(columns, axis=1)
    return np.stack([summed[pieces].mean(0) for pieces in positions_of_words(target)])


# Symmetrisation: one alignment out of the alignments of both directions.

Symmetrisation = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]
"""The ways to make one alignment of two."""
_DIAGONALS = ((-1, 1), (-1, -1), (1, -1), (1, 1))
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), *_DIAGONALS)


def symmetrised(forward: Set[Link], reverse: Set[Link], method: Symmetrisation) -> set[Link]:
    """Returns the symmetrisation of two alignments of a sentence pair (Och & Ney 2003, section 5; Koehn et al. 2003).

    `grow-diag` adds to the intersection links of the union that touch a link at a corner, where neither word has a link
    yet. `grow-diag-final` then adds links of the forward alignment, and after them of the reverse one, between words
    without a link. Both work as for the published FastAlign and Giza results (lilt's alignment-scripts), in their
    order. `grow-diag-final-and` works as in fast_align's `atools`, in its order. A link grows from any of its eight
    neighbours, also where one of its words has a link. Its last step is the same as in `grow-diag-final`.

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
    # At last come links between words that have none yet, those of the forward alignment first.
    if method != "grow-diag":
        for alignment in (forward, reverse):
            # Sorted, since a link that is added first keeps others out, and a set has no order of its own.
            for link in sorted(alignment):
                if not any(_taken(links, link)):
                    links.add(link)
    return links


def _grow(links: set[Link], union: Set[Link], *, either: bool) -> None:
    """Adds links of the union beside those that there are, until there are none. either: whether one word without a
    link is enough. A link that is added first keeps others out, so both loops go in the order of these programs."""
    # Rounds go on until one adds nothing.
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
