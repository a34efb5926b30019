"""What a search gives: hypotheses with their alignments. Needs no torch."""

from dataclasses import dataclass

import numpy as np

from mt.search import limits
from mt.search.windows import Windows

PAD = 0
BOS = 2
EOS = limits.EOS
NEVER_CHOSEN = (PAD, BOS)
"""Tokens that follow no token."""


@dataclass(frozen=True)
class Hypothesis:
    """One output sentence with its alignment.

    tokens: without BOS; with EOS unless the sentence was cut at its maximum length.
    log_prob: natural logarithm of the model's probability of `tokens`. score: what hypotheses are ranked by.
    windows: the attention weights of each token; of a soft attention, over the padded width of the batch.
    stops: [T] int64, where a hard attention stopped (-1 where nowhere); None if it is soft.
    energies: how many a hard monotonic attention needed to find its stops; None for other ones.
    """

    tokens: tuple[int, ...]
    log_prob: float
    score: float
    windows: Windows
    stops: np.ndarray | None
    energies: int | None

    @property
    def cut(self) -> bool:
        """Whether its limit ended it."""
        return limits.is_cut(self.tokens)

    @property
    def weights(self) -> np.ndarray:
        """[T, S] float32, made anew: S as far as anything could be attended to."""
        return self.windows.dense()


def penalty(length: int, exponent: float) -> float:
    """What a log-probability is divided by: ((5 + |Y|) / 6) ** exponent (Wu et al. 2016, equation 14)."""
    return ((5 + length) / 6) ** exponent
