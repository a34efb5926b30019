"""Word alignments out of attention weights, and their error against gold ones."""

from collections.abc import Sequence

import numpy as np

from mt.metrics.alignment import (
    AlignmentScore,
    alignment_error_rate,
    links_from_weights,
    parse_pharaoh,
    project,
    to_pharaoh,
)


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
