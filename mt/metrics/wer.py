"""Word and character error rate, as jiwer counts them. The one door to jiwer."""

from collections.abc import Callable, Sequence
from typing import Any

import jiwer
import numpy as np

from mt.metrics.advice import most, unspaced
from mt.metrics.base import RatioMetric, References


class Wer(RatioMetric):
    """Word error rate: substitutions, insertions and deletions per word of the reference, in percent (may pass 100).

    Words are what stands between blanks; case and punctuation count. Of several references the one with the lowest
    rate is taken, sentence by sentence.
    """

    name = "wer"
    higher_is_better = False
    heading = "WER"
    library = "jiwer"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        return {"wer": _errors(jiwer.process_words, hypotheses, references)}

    def signature_fields(self) -> str:
        return "multi:best|level:word|case:mixed|tok:blanks"

    def unsuited(self, references: References) -> str | None:
        if most(references, unspaced):
            return "WER counts words between blanks, and most references have none: choose cer"
        return None


class Cer(RatioMetric):
    """Character error rate: as `Wer`, over characters (Unicode code points), blanks between words included."""

    name = "cer"
    higher_is_better = False
    heading = "CER"
    library = "jiwer"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        return {"cer": _errors(jiwer.process_characters, hypotheses, references)}

    def signature_fields(self) -> str:
        return "multi:best|level:character|case:mixed|space:yes"


def _errors(process: Callable[..., Any], hypotheses: Sequence[str], references: References) -> np.ndarray:
    """[N, 2]: edits, and units of the reference that they are fewest per unit of."""
    owners = [i for i, group in enumerate(references) for _ in group]
    output = process([text for group in references for text in group], [hypotheses[i] for i in owners])
    best: dict[int, tuple[float, int, int]] = {}
    for i, chunks, units in zip(owners, output.alignments, output.references, strict=True):
        edits = sum(
            max(chunk.ref_end_idx - chunk.ref_start_idx, chunk.hyp_end_idx - chunk.hyp_start_idx)
            for chunk in chunks
            if chunk.type != "equal"
        )
        found = (edits / max(len(units), 1), edits, len(units))
        best[i] = min(best.get(i, found), found)
    return np.array([best[i][1:] for i in range(len(references))])
