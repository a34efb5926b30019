"""Gold links of a file, and the alignment error rate of word links against gold ones."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from mt.common.links import Link, Links, is_naacl, join_first_word, parse_naacl, parse_pharaoh
from mt.common.terminal import note
from mt.errors import UserError
from mt.metrics.base import Score, require_pairs
from mt.text_io import read_lines, require_parallel

Linkable = tuple[Set[int | None], Set[int | None]]
"""The words of a source and of a target that links can join: those that have a piece of the model."""


@dataclass(frozen=True)
class AlignmentScore(Score):
    """Alignment error rate (lower is better), with precision and recall; all in percent."""

    precision: float
    recall: float
    unlinkable: int = 0
    """How many gold links were left out because they join a word that has no piece of the model."""


def read_gold_links(path: Path, beside: Path, pairs: Sequence[str], *, one_based: bool) -> tuple[list[Links], bool]:
    """Returns the gold links of pairs, and whether they are in the NAACL format, and not in Pharaoh's, a line for each
    pair.

    beside: the file of `pairs`, for messages. one_based: whether words are counted from 1, as the NAACL format always
    does. Raises UserError if a line is wrong, or there are more or fewer lines than pairs.
    """
    lines = read_lines(path, pipes=True)
    if is_naacl(lines):
        return parse_naacl(lines, str(path), len(pairs)), True
    require_parallel([beside, path], [pairs, lines], "pair")
    return parse_pharaoh(lines, str(path), first=int(one_based)), False


def note_numbers(gold: Sequence[Links], path: Path) -> None:
    """Prints a note where the links of a file, which should count words from 0, seem to count them from 1."""
    if not join_first_word(gold):
        note(f"no link in {path} joins word 0, the first one: give --one-based if its words count from 1")


def alignment_error_rate(
    hypotheses: Sequence[Set[Link]], golds: Sequence[Links], linkable: Sequence[Linkable] | None = None
) -> AlignmentScore:
    """Computes AER over a corpus (Och & Ney 2003, section 6): 1 - (|A and S| + |A and P|) / (|A| + |S|), of sums of the
    counts. A are the hypothesis' links, S the sure and P the possible ones. Precision is |A and P| / |A|, or 0 without
    a link, and recall |A and S| / |S|.

    linkable: the words of each pair that links can join; by default all. Other words share a piece with a neighbour;
    their gold links are no errors of the attention, and are left out and counted. Raises UserError for unequal counts,
    an empty corpus, and gold alignments without a sure link."""
    # Gold links between words that links can join.
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
