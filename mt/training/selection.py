"""Which of several validations is the best, and what to say where the score that chooses cannot tell them apart.

The run's metric decides; of equal scores the lower dev loss. A score below NEAR_ZERO (of 100) is chance: BLEU, which
counts four words in a row, stays at 0 where outputs are single words, and near 0 until a model has learnt something.
There chrF decides, where it is measured and at least STAND_IN, else the loss; any score from NEAR_ZERO on is better
than all below it.
"""

import math
from collections.abc import Mapping, Sequence

from mt.metrics import Metric, higher_is_better
from mt.metrics.advice import NEAR_ZERO
from mt.metrics.base import References
from mt.metrics.score import without_mode

STAND_IN = 10.0
"""In percent: unrelated sentences of one language share character n-grams enough for a chrF of about this."""


def rank(scores: Mapping[str, float], metric: str) -> tuple[float, ...]:
    """Returns what orders validations from worst to best.

    scores: all of a validation; metric: the name of one of them.
    """
    mode = metric.removeprefix(without_mode(metric))
    loss = _number(-scores[f"loss{mode}"])
    if not higher_is_better(metric):
        return _number(-scores[metric]), loss
    for worth, name, least in ((2, metric, NEAR_ZERO), (1, f"chrf{mode}", STAND_IN)):
        if scores.get(name, 0.0) >= least:
            return worth, scores[name], loss
    return 0, loss


def improves(scores: Mapping[str, float], best: Mapping[str, float] | None, metric: str) -> bool:
    """Returns whether a validation is better than the best so far, of which there may be none."""
    return best is None or rank(scores, metric) > rank(best, metric)


def advice(best: Mapping[str, float], metric: str, metrics: Sequence[Metric], references: References) -> str | None:
    """Returns a sentence where the metric has not been able to choose.

    best: all scores of the best validation; metrics: of the run; references: of the dev split.
    """
    if not higher_is_better(metric) or best[metric] >= NEAR_ZERO:
        return None
    by = "the dev loss" if rank(best, metric)[0] == 0 else "chrF"
    reasons = [each.unsuited(references) for each in metrics if without_mode(metric) in each.headings()]
    reason = next(filter(None, reasons), "wait, or choose chrf (for single words accuracy or cer)")
    return (
        f"{metric} is {best[metric]:.2f} in the best validation, too low to tell checkpoints apart, so {by} does until "
        f"it reaches {NEAR_ZERO:g}: {reason} by training.metric, and measure it by dataset.metrics"
    )


def _number(value: float) -> float:
    """Returns the value; minus infinity in place of NaN, which is worse than all numbers."""
    return -math.inf if math.isnan(value) else value
