"""Constraints on the next token of a hypothesis, whatever its probability. Needs no torch."""

from typing import NamedTuple

import numpy as np

from mt.search.hypothesis import BOS, EOS, PAD


class Forbidden(NamedTuple):
    """Tokens that may not follow N hypotheses."""

    rows: np.ndarray
    """[F] int64: hypotheses, rising."""
    tokens: np.ndarray
    """[F] int64: for each of these one that would repeat an n-gram; none is PAD, BOS or EOS, none is there twice."""
    early: np.ndarray
    """[N] bool: the hypotheses that are too short to end."""

    def pairs(self, vocabulary: int) -> tuple[np.ndarray, np.ndarray]:
        """Hypotheses and tokens, EOS included: it may follow where nothing else may, even before `min_length`.

        vocabulary: how many tokens there are.
        """
        repeated = np.bincount(self.rows, minlength=len(self.early))
        unfinished = np.flatnonzero(self.early & (repeated + len((PAD, BOS, EOS)) < vocabulary))
        tokens = np.concatenate((self.tokens, np.full(len(unfinished), EOS)))
        return np.concatenate((self.rows, unfinished)), tokens


class Constraints(NamedTuple):
    min_length: int = 0
    """Fewest tokens before EOS."""
    no_repeat_ngram_size: int = 0
    """n: no n tokens in a row may occur twice in a hypothesis (Paulus et al. 2018, section 2.5: 3); 0: any may."""

    def forbidden(self, prefix: np.ndarray, length: int) -> Forbidden | None:
        """The tokens that may not follow; None where all may.

        prefix: [N, L] int64, the tokens of the hypotheses without BOS, of which n-grams are looked up; length: L, which
        min_length looks at.
        """
        early = length < self.min_length
        repeats = 0 < self.no_repeat_ngram_size <= length
        if not early and not repeats:
            return None
        rows = tokens = np.zeros(0, np.int64)
        if repeats:
            # The n-grams so far whose first n - 1 tokens are the last ones, token by token: contiguous comparisons.
            n = self.no_repeat_ngram_size
            count = length - n + 1
            begins = np.ones((len(prefix), count), bool)
            for i in range(n - 1):
                begins &= prefix[:, i : i + count] == prefix[:, count + i, None]
            rows, starts = begins.nonzero()
            pairs = np.unique(np.stack((rows, prefix[rows, starts + n - 1])), axis=1)
            rows, tokens = pairs[:, pairs[1] != EOS]
        return Forbidden(rows, tokens, np.full(len(prefix), early))

    def extended(self, prefix: np.ndarray, parents: list[int], tokens: list[int]) -> np.ndarray:
        """The prefixes [N, L + 1] of hypotheses that continue those of `parents` by tokens; without tokens where no
        n-gram is looked up, so that no step copies them."""
        if not self.no_repeat_ngram_size:
            return np.zeros((len(parents), 0), np.int64)
        return np.concatenate((prefix[parents], np.array(tokens, np.int64)[:, None]), 1)


FREE = Constraints()
