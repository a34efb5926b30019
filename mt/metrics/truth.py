"""Truth of the captions of `dataset=scenes`, which the data set itself judges."""

from collections.abc import Sequence

import numpy as np

from data_prep.generated.scenes.truth import is_true, parse_caption
from mt.metrics.advice import nearly_all
from mt.metrics.base import RatioMetric, References


class Truth(RatioMetric):
    """Percentage of captions of `dataset=scenes` that are true of their picture and leave none of its objects out.

    The reference that names size and place of every object says what is in a picture. A caption that equals a reference
    is true, whatever it says.
    """

    name = "truth"
    higher_is_better = True
    heading = "truth"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        true = [is_true(caption, group) for caption, group in zip(hypotheses, references, strict=True)]
        return {self.name: np.column_stack([true, np.ones(len(true))])}

    def signature_fields(self) -> str:
        return f"by:grammar|objects:all|{self._case()}" if self.settings.lowercase else "by:grammar|objects:all"

    def _objection(self, texts: Sequence[str]) -> str | None:
        if nearly_all(texts, lambda text: parse_caption(text) is None):
            return "truth understands captions of dataset=scenes, and most references are none: choose accuracy or bleu"
        return None
