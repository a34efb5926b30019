"""Tests whether a system is better than another by paired bootstrap resampling (Koehn 2004)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mt.metrics.score import Score

SAMPLES = 1000
"""How many test sets are drawn, with replacement, from the one there is."""
SEED = 12345
"""The seed of the draws; that of sacreBLEU, so that all metrics see the same test sets."""
LEVEL = 0.05
"""A p-value below it is called significant."""


@dataclass(frozen=True)
class Paired(Score):
    """A corpus score, how far it depends on the test set, and how it stands beside a baseline's."""

    mean: float
    """The mean of the score over the samples."""
    ci: float
    """Half the width of the interval that 95 % of the samples fall into."""
    p_value: float | None
    """The probability of a difference from the baseline as large as this one by chance; None for the baseline."""

    @property
    def significant(self) -> bool:
        """Returns whether the score differs significantly from the baseline's."""
        return self.p_value is not None and self.p_value < LEVEL


def percentage(sums: np.ndarray) -> np.ndarray:
    """Computes 100 * numerator / denominator of [..., 2]; a denominator of 0 (references without a word) counts as
    1."""
    return 100 * sums[..., 0] / np.where(sums[..., 1] == 0, 1, sums[..., 1])


def paired_bootstrap(
    counts: Mapping[str, np.ndarray], signature: str, score_of_sums: Callable[[np.ndarray], np.ndarray] = percentage
) -> dict[str, Paired]:
    """Compares systems, by name, whose score is computed from sums over the sentences; the first is the baseline.

    Interval and p-value are defined as sacreBLEU defines them for BLEU (its `significance.py`, which follows Moses and
    multeval), on the same samples.

    Args:
        counts: [N, K] of each system, numerators and denominators where K = 2, all of the same N sentences.
        signature: that of every result.
        score_of_sums: computes the score [...] of sums [..., K].
    """
    stacked = np.stack([np.asarray(rows, dtype=float) for rows in counts.values()], axis=1)  # [N, systems, K]
    scores = score_of_sums(stacked.sum(0))
    samples = score_of_sums(_resampled(stacked))
    results = {}
    for i, name in enumerate(counts):
        sample = samples[:, i]
        p_value = None
        if i > 0:
            differences = np.abs(sample - samples[:, 0])
            as_large = int((differences - differences.mean() > abs(scores[i] - scores[0])).sum())
            p_value = p_value_unless_equal((as_large + 1) / (SAMPLES + 1), scores[i], scores[0])
        results[name] = Paired(float(scores[i]), signature, float(sample.mean()), _half_width(sample), p_value)
    return results


def p_value_unless_equal(p_value: float, score: float, baseline: float) -> float:
    """Returns the p-value of sacreBLEU's test, or 1 for equal scores, for which that test returns its smallest
    value."""
    return p_value if score != baseline else 1.0


def _resampled(counts: np.ndarray) -> np.ndarray:
    """Returns the sums [SAMPLES, systems, K] of [N, systems, K] over each test set that is drawn."""
    draw = np.random.default_rng(SEED)
    size = len(counts)
    flat = counts.reshape(size, -1)
    # How often each sentence was drawn, one sample after the other: all of them at once would take SAMPLES * N numbers.
    sums = [np.bincount(draw.integers(size, size=size), minlength=size) @ flat for _ in range(SAMPLES)]
    return np.array(sums).reshape(SAMPLES, *counts.shape[1:])


def _half_width(sample: np.ndarray) -> float:
    """Returns half the width of the interval without the 2.5 % at either end."""
    ordered = np.sort(sample)
    cut = len(sample) // 40
    return float(ordered[-1 - cut] - ordered[cut]) / 2
