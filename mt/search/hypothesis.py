"""The hypotheses that a search returns, with their alignments. Needs no torch."""

from dataclasses import dataclass

import numpy as np

from mt.search import limits
from mt.search.windows import Windows, same_values

PAD = 0
BOS = 2
EOS = limits.EOS
NEVER_CHOSEN = (PAD, BOS)
"""Tokens that are never predicted."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One output sentence with its alignment.

    tokens: without BOS; with EOS unless the sentence was cut at its maximum length.
    log_prob: natural logarithm of the model's probability of `tokens`. score: by which hypotheses are ranked.
    windows: the attention weights of each token; of a soft attention, over the padded width of the batch.
    stops: [T] int64, the position at which a hard attention stopped (-1: at none); None if it is soft.
    energies: how many energies a hard monotonic attention needed to find its stops; None for other attentions.
    """

    tokens: tuple[int, ...]
    log_prob: float
    score: float
    windows: Windows
    stops: np.ndarray | None
    energies: int | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hypothesis) or vars(self).keys() != vars(other).keys():
            return NotImplemented
        return same_values([*vars(self).values()], [*vars(other).values()])

    def __hash__(self) -> int:
        return hash((self.tokens, self.score))

    @property
    def cut(self) -> bool:
        """Whether the sentence was cut at its maximum length."""
        return limits.is_cut(self.tokens)

    @property
    def weights(self) -> np.ndarray:
        """[T, S] float32, computed from the windows, whose largest end is S."""
        return self.windows.dense()


def penalty(length: int, exponent: float) -> float:
    """Returns the divisor of a log-probability, ((5 + |Y|) / 6) ** exponent (Wu et al. 2016, equation 14)."""
    return ((5 + length) / 6) ** exponent
