"""Where attention is while an object is named, beside where the object is: of captions that are checked for truth."""

import math
from collections.abc import Sequence

import numpy as np

from mt.data.split import Split
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.evaluation.timing import written
from mt.metrics.scenes import Truth, pointing
from mt.metrics.score import Score


def pointed(translator: Translator, translations: Sequence[Translation], split: Split) -> dict[str, Score]:
    """`pointing`: of the words of true captions that name an object, the percentage for which attention was largest on
    its box; see `mt.metrics.scenes.pointing`. None where captions are not scored by `truth`, nothing is attended to, or
    no caption is true."""
    if Truth.name not in translator.config.dataset.metrics or not translator.model.uses_source:
        return {}
    tokenizer, hits, side = translator.tokenizers.target, list[bool](), 0
    for translation, picture, group in zip(
        translations, split.column("source"), split.column("references"), strict=True
    ):
        # A word is written with its last token.
        steps = [one.tokens[-1] for one in written(tokenizer, translation.ids, "word")]
        side = math.isqrt(translation.alignment.shape[1])
        hits += pointing(translation.text, translation.alignment[steps], picture, group, (side, side))
    if not hits:
        return {}
    signature = f"n:{len(hits)}|of:objects of true captions|grid:{side}x{side}"
    return {"pointing": Score(100 * float(np.mean(hits)), signature)}
