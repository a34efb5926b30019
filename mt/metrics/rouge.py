"""ROUGE (Lin 2004), as Google's rouge-score computes it, and the lead baseline. The one door to rouge-score."""

import re
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from mt.metrics.advice import most
from mt.metrics.base import RatioMetric, References, Systems
from mt.metrics.settings import RougeProtocol
from mt.metrics.significance import Paired

_DIGIT = re.compile("[0-9]")
_UNK = re.compile(r"(?<!\S)(<unk>|unk|UNK)(?!\S)")


class Rouge(RatioMetric):
    """ROUGE-1, -2, -L and -Lsum in percent, averaged over the examples.

    ROUGE-Lsum takes a summary for a list of sentences, separated by newlines and by nothing else: without newlines
    it equals ROUGE-L.

    This is a metric for English. Its tokenizer lower-cases the text and keeps a-z and 0-9: every other character
    separates words. German "Größe" is counted as the words "gr" and "e", and Japanese has no words at all and
    scores 0. The stemmer (Porter) is English too. Use chrF or BLEU for other languages.
    """

    name = "rouge"
    higher_is_better = True
    heading = "ROUGE"
    library = "rouge-score"

    @classmethod
    def headings(cls) -> Mapping[str, str]:
        return {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "rougeLsum": "ROUGE-Lsum"}

    @classmethod
    def main(cls) -> str:
        return "rougeL"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        from rouge_score.rouge_scorer import RougeScorer  # here, since it takes half a second to import

        protocol = self.settings.rouge
        scorer = RougeScorer(list(self.headings()), use_stemmer=protocol.stem)
        choose = max if protocol.multi == "max" else fmean
        measure = "fmeasure" if protocol.measure == "f1" else "recall"
        values: dict[str, list[float]] = {name: [] for name in self.headings()}
        for hypothesis, group in zip(hypotheses, references, strict=True):
            cut = hypothesis.encode()[: protocol.limit_bytes].decode(errors="ignore")
            summary = _normalized(cut, protocol)
            scores = [scorer.score(_normalized(reference, protocol), summary) for reference in group]
            for name, column in values.items():
                column.append(choose(getattr(score[name], measure) for score in scores))
        return {name: np.column_stack([column, np.ones(len(column))]) for name, column in values.items()}

    def signature_fields(self) -> str:
        protocol = self.settings.rouge
        return (
            f"measure:{protocol.measure}|multi:{protocol.multi}"
            f"|case:lower|tok:a-z0-9|stem:{'yes' if protocol.stem else 'no'}|lsum:newline"
            f"|bytes:{protocol.limit_bytes or 'all'}|digits:{'#' if protocol.mask_digits else 'kept'}"
            f"|unk:{'kept' if protocol.keep_unk else 'removed'}"
        )

    def compare(self, systems: Systems, references: References) -> dict[str, dict[str, Paired]]:
        found = super().compare(systems, references)
        if not any("\n" in text for texts in (*systems.values(), *references) for text in texts):
            del found["rougeLsum"]  # which is rougeL
        return found

    def unsuited(self, references: References) -> str | None:
        if most(references, lambda text: not re.search("[a-zA-Z0-9]", text)):
            return "ROUGE knows no letters but a-z, and most references have none: choose chrf or bleu"
        return None


def lead(text: str, words: int) -> str:
    """The baseline that reads only the beginning: the first words of a source, split at blanks."""
    return " ".join(text.split()[:words])


def _normalized(text: str, protocol: RougeProtocol) -> str:
    if protocol.mask_digits:
        text = _DIGIT.sub("#", text)
    return text if protocol.keep_unk else _UNK.sub("", text)
