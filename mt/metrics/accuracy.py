"""Accuracy: the share of outputs that are exactly right."""

from collections.abc import Sequence

import numpy as np

from mt.metrics.base import RatioMetric, References


class Accuracy(RatioMetric):
    """Percentage of hypotheses that equal one of their references; for single words and other short outputs.

    Case and punctuation count; how many blanks stand between words, and at the ends, does not.
    """

    name = "accuracy"
    higher_is_better = True
    heading = "accuracy"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        pairs = zip(hypotheses, references, strict=True)
        hits = [_blanks_joined(text) in {_blanks_joined(reference) for reference in group} for text, group in pairs]
        return {"accuracy": np.column_stack([hits, np.ones(len(hits))])}

    def signature_fields(self) -> str:
        return "multi:any|case:mixed|space:joined"


def _blanks_joined(text: str) -> str:
    return " ".join(text.split())
