"""Constraints on the next token of a hypothesis, whatever its probability. Needs no torch."""

from typing import NamedTuple

import numpy as np

from mt.step import BOS, EOS, PAD


class Forbidden(NamedTuple):
    """The tokens that may not follow N hypotheses."""

    rows: np.ndarray
    """[F] int64: hypotheses, rising."""
    tokens: np.ndarray
    """[F] int64: a token that would repeat an n-gram of this hypothesis; none is PAD, BOS or EOS, and no pair occurs
    twice."""
    early: np.ndarray
    """[N] bool: whether a hypothesis is too short to end."""

    def pairs(self, vocabulary: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns hypotheses and tokens, EOS included, which may follow where nothing else may, even before
        `min_length`.

        vocabulary: how many tokens there are.
        """
        repeated = np.bincount(self.rows, minlength=len(self.early))
        unfinished = np.flatnonzero(self.early & (repeated + len((PAD, BOS, EOS)) < vocabulary))
        tokens = np.concatenate((self.tokens, np.full(len(unfinished), EOS)))
        return np.concatenate((self.rows, unfinished)), tokens


class Wanted(NamedTuple):
    """Tokens that may follow N hypotheses, however improbable: a step says of each how probable it is."""

    rows: np.ndarray
    """[W] int64: hypotheses."""
    tokens: np.ndarray
    """[W] int64: a token after each; none is PAD or BOS."""


class Constraints(NamedTuple):
    """What every hypothesis must satisfy."""

    min_length: int = 0
    """Fewest tokens before EOS."""
    no_repeat_ngram_size: int = 0
    """n: no n tokens in a row may occur twice in a hypothesis (Paulus et al. 2018, section 2.5: 3); 0: any may."""

    def forbidden(self, prefix: np.ndarray, length: int) -> Forbidden | None:
        """Returns the tokens that may not follow; None where all may.

        prefix: [N, L] int64, the tokens of the hypotheses without BOS, in which n-grams are looked up; length: L, with
        which `min_length` is compared.
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

    def prefix(self, tokens: list[int]) -> np.ndarray:
        """Returns the prefix [1, L] of one hypothesis; [1, 0] where no n-gram is looked up."""
        return np.array([tokens if self.no_repeat_ngram_size else []], np.int64)

    def extended(self, prefix: np.ndarray, parents: list[int], tokens: list[int]) -> np.ndarray:
        """Returns the prefixes [N, L + 1] of hypotheses that continue those of `parents` by tokens. They are [N, 0]
        where no n-gram is looked up, so that no step copies them."""
        if not self.no_repeat_ngram_size:
            return np.zeros((len(parents), 0), np.int64)
        return np.concatenate((prefix[parents], np.array(tokens, np.int64)[:, None]), 1)


FREE = Constraints()
