"""Paired bootstrap resampling by hand, and over the samples that sacreBLEU draws."""

import numpy as np
import pytest

from mt.metrics.base import LEVEL, Paired, paired_bootstrap


def mean_of(values):
    """Counts [N, 2] whose ratio is the mean of the values, given in percent."""
    return np.column_stack([values / 100, np.ones(len(values))])


def test_by_hand():
    # Every sample of equal values has the same score, so no sample is as far from the baseline as the scores are.
    values = {"base": 40.0, "better": 50.0, "same": 40.0}
    result = paired_bootstrap({name: mean_of(np.full(5, value)) for name, value in values.items()}, "s")
    assert result["base"] == Paired(40.0, "s", 40.0, 0.0, None)
    assert result["better"] == Paired(50.0, "s", 50.0, 0.0, 1 / 1001)
    assert result["same"] == Paired(40.0, "s", 40.0, 0.0, 1.0)


def test_ratios_are_of_the_sums_over_each_sample():
    draw = np.random.default_rng(3)
    counts = {name: np.column_stack([draw.integers(0, 9, 30), draw.integers(0, 12, 30)]) for name in ("base", "other")}
    result = paired_bootstrap(counts, "s")
    samples = {name: [] for name in counts}
    drawn = np.random.default_rng(12345).choice(30, size=(1000, 30), replace=True)  # as sacreBLEU draws
    for name, own in counts.items():
        for indices in drawn:
            errors, words = own[indices].sum(0)
            samples[name].append(100 * errors / words)
        assert result[name].score == pytest.approx(100 * own[:, 0].sum() / own[:, 1].sum())
        assert result[name].mean == pytest.approx(np.mean(samples[name]))
        lowest, highest = np.sort(samples[name])[[25, -26]]
        assert result[name].ci == pytest.approx((highest - lowest) / 2)
    gaps = np.abs(np.array(samples["other"]) - samples["base"])
    larger = gaps - gaps.mean() > abs(result["other"].score - result["base"].score)
    assert result["other"].p_value == (larger.sum() + 1) / 1001


def test_significance_is_below_the_level_and_not_the_baselines():
    assert Paired(1, "", 1, 0, LEVEL - 0.001).significant
    assert not Paired(1, "", 1, 0, LEVEL).significant
    assert not Paired(1, "", 1, 0, None).significant
