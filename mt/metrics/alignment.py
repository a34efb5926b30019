"""Word alignments: Pharaoh format, links between words, alignment error rate.

A link (i, j) joins source position i and target position j, both counted from 0. `mt.decoding.translation`
makes links of attention weights.
"""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

import numpy as np

from mt.errors import UserError, shown
from mt.metrics.base import Score, require_pairs

Link = tuple[int, int]
Linkable = tuple[Set[int | None], Set[int | None]]
"""The words of a source and of a target that a link can join, since a piece of the model stands for them."""

_NUMBER = "([0-9]{1,9})"
_TOKEN = re.compile(rf"{_NUMBER}([-p:]){_NUMBER}(/[01])?")
_NAACL = re.compile(rf"\s*{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}(?:\s+([SP]))?(?:\s+[0-9.]+)?\s*")


@dataclass(frozen=True)
class Links:
    """The links of one sentence pair. `possible` includes `sure`, as P includes S in Och & Ney (2003)."""

    sure: frozenset[Link]
    possible: frozenset[Link]


@dataclass(frozen=True)
class AlignmentScore(Score):
    """Alignment error rate (lower is better), with precision and recall; all in percent."""

    precision: float
    recall: float
    unlinkable: int = 0
    """How many gold links were left out, since they join a word for which the model has no piece."""


def parse_pharaoh(lines: Iterable[str], name: str, *, first: int = 0) -> list[Links]:
    """Reads one sentence pair per line: `i-j` is a sure link, `ipj` a possible one; TsinghuaAligner's `i:j/1` and
    `i:j/0` are the same two. name: of the file, for an error. first: the number of the first word in the lines, 0 or 1;
    links are counted from 0 in any case. Raises UserError, with the line, for what is no link."""
    parsed = []
    for number, line in enumerate(lines, start=1):
        # A sure link is possible, too.
        sure = set()
        possible = set()
        for token in line.split():
            match = _TOKEN.fullmatch(token)
            if match is None or (match[2] == ":") != (match[4] is not None):
                raise UserError(
                    f"{name}, line {number}: {shown(repr(token))} is not a link; write i-j (sure) or ipj (possible), "
                    f"for source position i and target position j, counted from {first}"
                )
            link = (int(match[1]) - first, int(match[3]) - first)
            if min(link) < 0:
                raise UserError(f"{name}, line {number}: the link {token} names word 0, and words count from {first}")
            possible.add(link)
            if match[2] == "-" or match[4] == "/1":
                sure.add(link)
        parsed.append(Links(frozenset(sure), frozenset(possible)))
    return parsed


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
    # A link to word 0 says that the other word has none.
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        match = _NAACL.fullmatch(line)
        if match is None:
            raise UserError(
                f"{name}, line {number}: {shown(repr(line.strip()))} is no link of the NAACL format, as the first line "
                "is; write: SENTENCE SOURCE TARGET S (sure) or P (possible), all counted from 1"
            )
        sentence, i, j = (int(match[group]) for group in (1, 2, 3))
        if not 1 <= sentence <= count:
            raise UserError(f"{name}, line {number}: there is no sentence {sentence}, since there are {count} pairs")
        if i and j:
            possible[sentence - 1].add((i - 1, j - 1))
            if match[4] != "P":
                sure[sentence - 1].add((i - 1, j - 1))
    return [Links(*map(frozenset, of_pair)) for of_pair in zip(sure, possible, strict=True)]


def require_inside(
    golds: Sequence[Links],
    lengths: Sequence[tuple[int, int]],
    name: str,
    *,
    first: int = 0,
    advice: str = "",
    place: str = "line",
) -> None:
    """Raises UserError, with the line, where a link joins a word that is not there.

    lengths: the source and target words of each pair. name, first: as of `parse_pharaoh`. advice: what else to do.
    place: what a pair is called in the file, a line or of the NAACL format a sentence."""
    for number, (gold, (source, target)) in enumerate(zip(golds, lengths, strict=True), start=1):
        for i, j in sorted(gold.possible):
            if i >= source or j >= target:
                raise UserError(
                    f"{name}, {place} {number}: the link {i + first}-{j + first} joins a word that is not there. "
                    f"The pair has {source} source and {target} target words, which count from {first}: check that "
                    f"the links belong to these texts{advice}"
                )


def to_pharaoh(links: Iterable[Link]) -> str:
    """Writes links as one line of Pharaoh format, sorted, without the newline."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def project(links: Iterable[Link], source_words: Sequence[int | None], target_words: Sequence[int | None]) -> set[Link]:
    """Makes links between words of links between their pieces: two words are linked when any of their pieces are.

    source_words: [S], the word that each source piece belongs to, None for a piece of no word (EOS). target_words: [T].
    """
    pairs = ((source_words[i], target_words[j]) for i, j in links)
    return {(i, j) for i, j in pairs if i is not None and j is not None}


def positions_of_words(words: Sequence[int | None]) -> list[list[int]]:
    """Returns the positions of the pieces of each word, in the order of the words' first pieces; a piece of no word
    (EOS) stands alone. words: that of each piece.

    >>> positions_of_words([0, 0, 2, None])
    [[0, 1], [2], [3]]
    """
    positions: dict[tuple[int, bool], list[int]] = {}
    for position, word in enumerate(words):
        key = (position, False) if word is None else (word, True)
        positions.setdefault(key, []).append(position)
    return [*positions.values()]


def weights_between_words(
    weights: np.ndarray, source: Sequence[int | None], target: Sequence[int | None]
) -> np.ndarray:
    """Returns attention weights between words, out of weights [T, S] between their pieces. A source word has the sum of
    what its pieces have, and a target word the mean. source: [S], target: [T], as in `project`."""
    columns = [weights[:, pieces].sum(1) for pieces in positions_of_words(source)]
    summed = np.stack(columns, axis=1)
    return np.stack([summed[pieces].mean(0) for pieces in positions_of_words(target)])


def alignment_error_rate(
    hypotheses: Sequence[Set[Link]], golds: Sequence[Links], linkable: Sequence[Linkable] | None = None
) -> AlignmentScore:
    """Computes AER over a corpus (Och & Ney 2003, section 6): 1 - (|A and S| + |A and P|) / (|A| + |S|), of sums of the
    counts. A are the hypothesis' links, S the sure and P the possible ones. Precision is |A and P| / |A|, or 0 without
    a link, and recall |A and S| / |S|.

    linkable: what links of each pair can join, all words by default. Gold links of other words, which share a piece
    with a neighbour, are no errors of an attention: they are left out, and counted. Raises UserError for unequal
    counts, nothing to score, and gold alignments without a sure link."""
    require_pairs(hypotheses, golds)
    given = sum(len(gold.possible) for gold in golds)
    if linkable is not None:
        golds = [_between(gold, words) for gold, words in zip(golds, linkable, strict=True)]
    unlinkable = given - sum(len(gold.possible) for gold in golds)
    pairs = list(zip(hypotheses, golds, strict=True))
    # The counts of the paper's sets, over the corpus.
    a = sum(len(links) for links in hypotheses)
    s = sum(len(gold.sure) for gold in golds)
    a_and_s = sum(len(links & gold.sure) for links, gold in pairs)
    a_and_p = sum(len(links & gold.possible) for links, gold in pairs)
    if s == 0:
        among = f" but {unlinkable} to words without a piece of the model" if unlinkable else ""
        raise UserError(f"the gold alignments hold no sure link (i-j){among}, so there is nothing to score against")
    return AlignmentScore(
        score=100 * (1 - (a_and_s + a_and_p) / (a + s)),
        signature=f"n:{len(golds)}|sure:{s}|possible:{given - unlinkable}|average:corpus"
        + (f"|unlinkable:{unlinkable}" if unlinkable else ""),
        precision=100 * a_and_p / a if a else 0.0,
        recall=100 * a_and_s / s,
        unlinkable=unlinkable,
    )


def _between(gold: Links, words: Linkable) -> Links:
    sources, targets = words
    possible = frozenset((i, j) for i, j in gold.possible if i in sources and j in targets)
    return Links(gold.sure & possible, possible)
