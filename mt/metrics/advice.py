"""What the data says against a metric, for a user to read."""

import re
from collections.abc import Callable, Sequence

from mt.metrics.base import Metric, References
from mt.metrics.score import without_mode

NEAR_ZERO = 2.0
"""In percent: below, differences between checkpoints are chance."""
_MOST = 0.9
"""Of the references, that must be alike for it to be said."""
# Scripts without blanks between words: Thai, Lao, Burmese, Khmer, kana, Chinese characters. Korean has blanks.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


def uninformative(
    metrics: Sequence[Metric], chosen: str, scores: Sequence[float], references: References
) -> str | None:
    """Why the score that chooses the best checkpoint cannot choose it, once a validation has shown so, and what could.

    Where outputs are single words (transliteration, spelling, pronunciation), BLEU, which counts four in a row, stays
    near zero however good a model is.

    Args:
        metrics: of the run.
        chosen: the name of the score: bleu, rougeL, bleu_hard.
        scores: its value at each validation so far.
        references: of the dev split.
    """
    [*choosing] = (metric for metric in metrics if without_mode(chosen) in metric.headings())
    if not choosing or not choosing[0].higher_is_better or not scores or max(scores) >= NEAR_ZERO:
        return None
    reason, count = choosing[0].unsuited(references), f"{len(scores)} validation{'s' * (len(scores) > 1)}"
    return reason and f"{chosen} is {max(scores):.2g} at most in {count} and cannot choose a checkpoint: {reason}"


def most(references: References, test: Callable[[str], bool]) -> bool:
    """Whether the first references of nearly all sentences are so."""
    return sum(test(group[0]) for group in references) >= _MOST * len(references)


def unspaced(text: str) -> bool:
    """Whether it is in a script that puts no blanks between words."""
    return bool(_UNSPACED.search(text))
