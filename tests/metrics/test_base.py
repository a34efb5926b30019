"""The oracle is sacreBLEU's own test, given a metric that averages; it sums in float32, hence the tolerances."""

import numpy as np
import pytest
from sacrebleu.metrics.base import Metric, Score
from sacrebleu.significance import PairedTest

from mt.metrics.base import LEVEL, Paired, paired_bootstrap


class Average(Metric):
    """Hypotheses are numbers; the score of a corpus is their mean."""

    def _preprocess_segment(self, sent):
        return sent

    def _extract_reference_info(self, refs):
        return {}

    def _compute_segment_statistics(self, hypothesis, ref_kwargs):
        return [float(hypothesis), 1.0]

    def _compute_score_from_stats(self, stats):
        return Score("average", float(stats[0] / stats[1]))

    def _aggregate_and_compute(self, stats):
        return self._compute_score_from_stats(np.array(stats).sum(0))


def mean_of(values):
    """Counts [N, 2] whose ratio is the mean of the values, given in percent."""
    return np.column_stack([values / 100, np.ones(len(values))])


@pytest.mark.parametrize("shift", [0.1, 1.5, 4.0, -4.0])
def test_as_sacrebleu_defines_it(shift):
    draw = np.random.default_rng(7)
    base = draw.uniform(0, 100, 80)
    other = np.clip(base + draw.normal(shift, 12, 80), 0, 100)
    texts = [(name, [repr(float(value)) for value in values]) for name, values in (("base", base), ("other", other))]
    _, table = PairedTest(texts, {"average_checkpoints": Average()}, [["reference"] * 80], "bs", 1000)()
    results = paired_bootstrap({"base": mean_of(base), "other": mean_of(other)}, "signature")
    for result, theirs in zip(results.values(), table["average"], strict=True):
        assert (result.score, result.mean, result.ci) == pytest.approx((theirs.score, theirs.mean, theirs.ci), rel=1e-5)
        assert result.p_value == theirs.p_value
    assert 0 < results["other"].p_value <= 1


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
    gaps = np.abs(np.array(samples["other"]) - samples["base"])
    larger = gaps - gaps.mean() > abs(result["other"].score - result["base"].score)
    assert result["other"].p_value == (larger.sum() + 1) / 1001


def test_significance_is_below_the_level_and_not_the_baselines():
    assert Paired(1, "", 1, 0, LEVEL - 0.001).significant
    assert not Paired(1, "", 1, 0, LEVEL).significant
    assert not Paired(1, "", 1, 0, None).significant
