"""Is a system better than another, or was it lucky in its test set? Paired bootstrap resampling (Koehn 2004)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mt.metrics.score import Score

SAMPLES = 1000
"""Test sets that are drawn, with replacement, from the one there is."""
SEED = 12345
"""Of the draws; sacreBLEU's own, so that all metrics see the same test sets."""
LEVEL = 0.05
"""A p-value below it is called significant."""


@dataclass(frozen=True)
class Paired(Score):
    """A corpus score, how far it depends on the test set, and how it stands beside a baseline's."""

    mean: float
    """Of the score, over the samples."""
    ci: float
    """Half the width of the interval that 95 % of the samples fall into."""
    p_value: float | None
    """How likely a difference from the baseline as large as this one is by chance; None for the baseline itself."""

    @property
    def significant(self) -> bool:
        """Whether it differs from the baseline."""
        return self.p_value is not None and self.p_value < LEVEL


def paired_bootstrap(examples: Mapping[str, np.ndarray], signature: str) -> dict[str, Paired]:
    """Systems by name, whose score is the mean of its values per example; the first is the baseline.

    Interval and p-value are defined as sacreBLEU defines them for BLEU (its `significance.py`, which follows Moses and
    multeval), on the same samples.

    Args:
        examples: the values of each system, [N], all of the same N examples.
        signature: of every result.
    """
    names = list(examples)
    values = np.array([examples[name] for name in names])
    drawn = np.random.default_rng(SEED).choice(values.shape[1], size=(SAMPLES, values.shape[1]), replace=True)
    scores = values.mean(1)
    samples = np.array([system[drawn].mean(1) for system in values])
    results = {}
    for name, score, sample in zip(names, scores, samples, strict=True):
        differences = np.abs(sample - samples[0])
        as_large = int((differences - differences.mean() > abs(score - scores[0])).sum())
        p_value = None if name == names[0] else where_different((as_large + 1) / (SAMPLES + 1), score, scores[0])
        results[name] = Paired(float(score), signature, float(sample.mean()), _half_width(sample), p_value)
    return results


def where_different(p_value: float, score: float, baseline: float) -> float:
    """The p-value of sacreBLEU's test, or 1 for equal scores, for which that test returns its smallest value."""
    return p_value if score != baseline else 1.0


def _half_width(sample: np.ndarray) -> float:
    """Of the interval without the 2.5 % at either end."""
    ordered, cut = np.sort(sample), len(sample) // 40
    return float(ordered[-1 - cut] - ordered[cut]) / 2
