"""Word alignments out of attention weights, and their error against gold ones."""

from collections.abc import Sequence

import numpy as np

from mt.data.tokenizer import word_index
from mt.data.words import words
from mt.inference import Translator
from mt.metrics.alignment import alignment_error_rate, links_from_weights, parse_pharaoh, project, to_pharaoh
from mt.metrics.score import Score


def forced_links(translator: Translator, sources: Sequence[str], targets: Sequence[str], *, hard: bool) -> list[str]:
    """Word alignments of pairs of texts in Pharaoh format: each target word with the source word that it attends to
    most under teacher forcing."""
    return [
        word_links(
            forced.alignment, translator.tokenizers.source.split(source), translator.tokenizers.target.split(target)
        )
        for source, target, forced in zip(sources, targets, translator.align(sources, targets, hard=hard), strict=True)
    ]


def word_links(weights: np.ndarray, source: Sequence[str], target: Sequence[str]) -> str:
    """A word alignment in Pharaoh format out of attention weights [T, S] between pieces.

    source: [S], target: [T] pieces. Words are those of `mt.data.words.words`; each target piece brings the link to the
    source piece that it attends to most.
    """
    return to_pharaoh(project(links_from_weights(weights), _words_of(source), _words_of(target)))


def alignment_error(lines: Sequence[str], gold: Sequence[str], name: str = "the gold alignments") -> Score:
    """AER of Pharaoh lines against gold ones, in percent. name: what to call the gold lines where one is wrong."""
    return alignment_error_rate(
        [links.possible for links in parse_pharaoh(lines, "the alignments")], parse_pharaoh(gold, name)
    )


def _words_of(pieces: Sequence[str]) -> list[int | None]:
    """For each piece the index of its word, None for EOS."""
    # As it is decoded, an unknown piece is one mark, and not the word between two that its name would be.
    spelt = ["⁇" if piece == "<unk>" else piece for piece in pieces]
    text = "".join(piece for piece in spelt if piece != "</s>").replace("▁", " ")
    return [None if index < 0 else index for index in word_index(words(text), spelt)]
