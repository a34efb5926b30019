"""How the hypotheses of a beam search are compared. Needs no torch."""

from typing import NamedTuple

import numpy as np

from mt.search.hypothesis import penalty
from mt.search.stepper import Step


class Ranking(NamedTuple):
    """How hypotheses are compared."""

    length_penalty: float
    n_best: int

    def score(self, log_prob: float, length: int) -> float:
        """Returns log-probability over length penalty, in float32 as the model's numbers."""
        return float(np.float32(log_prob) / self.divisor(length))

    def divisor(self, length: int) -> np.float32:
        return np.float32(penalty(length, self.length_penalty))


class Open(NamedTuple):
    """The open hypotheses of the sentences that are searched, those of one sentence side by side, best first."""

    tokens: list[int]
    """The last token of each."""
    parents: list[int]
    """The hypothesis of the step before that each continues."""
    log_probs: list[float]
    counts: list[int]
    """How many hypotheses each sentence has."""


def ranked(opened: Open, step: Step, offsets: np.ndarray | None) -> tuple[list[list[float]], list[list[int]]]:
    """Returns for each sentence the log-probabilities of its hypotheses' extensions, at index hypothesis * width +
    rank, and these indices, best first. The best of a sentence are among the best of each hypothesis.

    offsets: [N], taken from the log-probabilities of a hypothesis' extensions before they are compared.
    """
    # In float32, as the model's numbers.
    values = np.array(opened.log_probs, np.float32)[:, None] + step.log_probs
    log_probs = _by_sentence(values, opened.counts)
    if log_probs.shape[1] == 1:
        return log_probs.tolist(), [[0]] * len(log_probs)
    compared = log_probs if offsets is None else _by_sentence(values - offsets[:, None], opened.counts)
    return log_probs.tolist(), (-compared).argsort(1, kind="stable").tolist()


def _by_sentence(values: np.ndarray, counts: list[int]) -> np.ndarray:
    """Returns values [N, K] of hypotheses as one row for each sentence, filled up with -inf."""
    widest = max(counts)
    if widest * len(counts) > len(values):
        grid = np.full((len(counts), widest, values.shape[1]), -np.inf, np.float32)
        grid[np.arange(widest) < np.array(counts)[:, None]] = values
        values = grid
    return values.reshape(len(counts), -1)
