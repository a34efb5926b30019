"""Word alignments out of attention weights, gold ones of pairs of texts, and the error between both."""

import sys
from collections.abc import Sequence

import numpy as np

from mt.common.terminal import say
from mt.data.tokenizer import LinkUnit, units
from mt.metrics.alignment import (
    AlignmentScore,
    Links,
    alignment_error_rate,
    links_from_weights,
    parse_pharaoh,
    project,
    require_inside,
    to_pharaoh,
)

WORDS: dict[str, LinkUnit] = {"marks": "word", "blanks": "spaced"}
"""What the words of gold links are, by `--words` of `scripts/align.py`."""


def pharaoh(weights: np.ndarray, source: Sequence[int | None], target: Sequence[int | None]) -> str:
    """Returns a line of Pharaoh format out of attention weights [T, S] between pieces: each target piece links its unit
    to that of the source piece with its largest weight. source: [S], target: [T], what `Tokenizer.unit_ids` gives."""
    return to_pharaoh(project(links_from_weights(weights), source, target))


def alignment_error(lines: Sequence[str], gold: Sequence[str], name: str = "the gold alignments") -> AlignmentScore:
    """Computes the AER of Pharaoh lines against gold ones, in percent. name: what to call the gold lines in an
    error."""
    return alignment_error_rate(
        [links.possible for links in parse_pharaoh(lines, "the alignments")], parse_pharaoh(gold, name)
    )


def read_gold(
    lines: Sequence[str],
    sources: Sequence[str],
    targets: Sequence[str],
    words: str | None,
    *,
    name: str,
    one_based: bool,
) -> list[Links]:
    """Returns the gold links of pairs of texts, and prints a note where it matters what words are and nobody says it.

    lines: in Pharaoh format, a line for each pair. words: a key of WORDS; None: marks. name: what to call the lines.
    one_based: whether words are counted from 1. Raises UserError where a line is wrong, or links words that the pair
    does not have.
    """
    first = int(one_based)
    unit = WORDS[words or "marks"]
    gold = parse_pharaoh(lines, name, first=first)
    advice = "" if one_based else ", give --one-based if they count from 1"
    advice += "" if words == "blanks" else ", and --words blanks if their words are what stands between blanks"
    pairs = list(zip(sources, targets, strict=True))
    lengths = [(len(units(source, unit)), len(units(target, unit))) for source, target in pairs]
    require_inside(gold, lengths, name, first=first, advice=advice)
    between_blanks = [(len(source.split()), len(target.split())) for source, target in pairs]
    different = sum(one != other for one, other in zip(lengths, between_blanks, strict=True))
    if different and words is None:
        say(
            f"note: {different} of {len(gold)} pairs have other words between blanks: give --words blanks if the gold "
            "links count those, or --words marks if punctuation marks are words of theirs",
            sys.stderr,
        )
    return gold
