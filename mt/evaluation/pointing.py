"""Compares where attention is while an object is named with where the object is, for captions that are scored by
truth."""

import math
from collections.abc import Sequence

import numpy as np

from data_prep.generated.scenes.truth import pointing
from mt.data.split import Split
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.evaluation.timing import written_units
from mt.metrics.score import Score
from mt.metrics.truth import Truth


def pointing_score(translator: Translator, translations: Sequence[Translation], split: Split) -> dict[str, Score]:
    """Computes `pointing`: of the words of true captions that name an object, the percentage for which attention was
    largest on the object's box, see `data_prep.generated.scenes.truth.pointing`. Empty where captions are not scored by
    `truth`, the model attends to nothing, or no caption is true."""
    if Truth.name not in translator.config.dataset.metrics or not translator.model.uses_source:
        return {}
    tokenizer = translator.tokenizers.target
    hits: list[bool] = []
    side = 0
    for translation, picture, references in zip(
        translations, split.column("source"), split.column("references"), strict=True
    ):
        # A word is written with its last token.
        steps = [word.tokens[-1] for word in written_units(tokenizer, translation.ids, "word")]
        side = math.isqrt(translation.alignment.shape[1])
        hits += pointing(translation.text, translation.alignment[steps], picture, references, (side, side))
    if not hits:
        return {}
    signature = f"n:{len(hits)}|of:objects of true captions|grid:{side}x{side}"
    return {"pointing": Score(100 * float(np.mean(hits)), signature)}
