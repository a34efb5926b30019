"""Which of several validations is the best, and what to say where the score that chooses cannot tell them apart.

The run's metric decides; of equal scores the lower dev loss. A score below NEAR_ZERO (of 100) is chance: BLEU, which
counts four words in a row, stays at 0 where outputs are single words, and near 0 until a model has learnt something.
There chrF decides, where it is measured and not near zero itself, else the loss; any score from NEAR_ZERO on is better
than all below it.
"""

import math
from collections.abc import Mapping, Sequence

NEAR_ZERO = 2.0
"""In percent: differences between scores below it are chance."""
LOWER_IS_BETTER = ("loss", "perplexity", "ter", "wer", "cer")
_MODES = ("_soft", "_hard")


def rank(scores: Mapping[str, float], metric: str) -> tuple[float, ...]:
    """What orders validations from worst to best. scores: all of a validation; metric: the name of one of them."""
    base, mode = _parted(metric)
    loss = -scores[f"loss{mode}"] if f"loss{mode}" in scores else -scores["loss"]
    if base in LOWER_IS_BETTER:
        return _number(-scores[metric]), _number(loss)
    for worth, name in ((2, metric), (1, f"chrf{mode}")):
        if scores.get(name, 0.0) >= NEAR_ZERO:
            return worth, scores[name], _number(loss)
    return 0, _number(loss)


def improves(scores: Mapping[str, float], best: Mapping[str, float] | None, metric: str) -> bool:
    """Whether a validation is better than the best so far, of which there may be none."""
    return best is None or rank(scores, metric) > rank(best, metric)


def advice(best: Mapping[str, float], metric: str, references: Sequence[Sequence[str]]) -> str | None:
    """A sentence where the metric has not been able to choose.

    best: all scores of the best validation; references: of the dev split.
    """
    base, mode = _parted(metric)
    if base in LOWER_IS_BETTER or best[metric] >= NEAR_ZERO:
        return None
    chrf = base != "chrf" and best.get(f"chrf{mode}", 0.0) >= NEAR_ZERO
    by = "chrF, and then the dev loss, chooses" if chrf else "the dev loss chooses"
    choices, reason = "chrf or loss", "chance"
    if sum(len(group[0].split()) == 1 for group in references) > len(references) / 2:
        choices, reason = "accuracy, cer or chrf", "where it stays, since most references are single words"
    return (
        f"{metric} is {best[metric]:.2f} in the best validation, which is {reason}: {by} the best checkpoint until it "
        f"reaches {NEAR_ZERO:g}; set training.metric to {choices} (scores are those of dataset.metrics)"
    )


def _parted(metric: str) -> tuple[str, str]:
    """The name of a score and its mode, "" where it has none."""
    for mode in _MODES:
        if metric.endswith(mode):
            return metric.removesuffix(mode), mode
    return metric, ""


def _number(value: float) -> float:
    """Not a number is worse than all numbers."""
    return -math.inf if math.isnan(value) else value
