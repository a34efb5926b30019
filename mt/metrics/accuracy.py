"""Accuracy: the share of outputs that are exactly right."""

from collections.abc import Sequence

import numpy as np

from mt.metrics.base import RatioMetric, References


class Accuracy(RatioMetric):
    """Percentage of hypotheses that equal one of their references; for single words and other short outputs.

    Case and punctuation count.
    """

    name = "accuracy"
    higher_is_better = True
    heading = "accuracy"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        hits = [text in group for text, group in zip(hypotheses, references, strict=True)]
        return {"accuracy": np.column_stack([hits, np.ones(len(hits))])}

    def signature_fields(self) -> str:
        return f"multi:any|{self._case()}|space:joined"
