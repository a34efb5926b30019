"""Word and character error rate, as jiwer counts them. The one door to jiwer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from mt.metrics.advice import is_unspaced, nearly_all
from mt.metrics.base import RatioMetric, References
from mt.metrics.score import Score


def process_words(references: list[str], hypotheses: list[str]) -> Any:
    import jiwer  # here, as below, since most commands count no errors

    return jiwer.process_words(references, hypotheses)


def process_characters(references: list[str], hypotheses: list[str]) -> Any:
    import jiwer

    return jiwer.process_characters(references, hypotheses)


@dataclass(frozen=True)
class ErrorRate(Score):
    """A rate with the kinds of its errors, in units: words or characters."""

    substitutions: int
    deletions: int
    """Units of the references that hypotheses lack."""
    insertions: int
    """Units that the references lack."""
    units: int
    """Units of the references that the hypotheses are compared with."""


class _Rate(RatioMetric):
    """Errors per unit of the reference, in percent, which may be above 100. Each sentence is compared with the one of
    its references that gives the lowest rate."""

    higher_is_better = False
    library = "jiwer"
    _process: ClassVar[Callable[..., Any]]
    """The function of jiwer that aligns units."""

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        return {self.name: _errors(type(self)._process, hypotheses, references)[:, :2]}

    def _scores(self, hypotheses: Sequence[str], references: References) -> dict[str, Score]:
        signature = self._signature(references)
        sums = _errors(type(self)._process, hypotheses, references).sum(0)
        kinds = dict(zip(("units", "substitutions", "deletions", "insertions"), map(int, sums[1:]), strict=True))
        return {self.name: ErrorRate(float(self.score_of_sums(sums[:2])), signature, **kinds)}


class Wer(_Rate):
    """Word error rate: substitutions, insertions and deletions per word of the reference.

    Words stand between blanks; case and punctuation count.
    """

    name = "wer"
    heading = "WER"
    _process = staticmethod(process_words)

    def signature_fields(self) -> str:
        return f"multi:best|level:word|{self._case()}|tok:blanks"

    def _objection(self, texts: Sequence[str]) -> str | None:
        if nearly_all(texts, is_unspaced):
            return "WER counts words between blanks, and most references have none: choose cer"
        return None


class Cer(_Rate):
    """Character error rate: as `Wer`, over characters (Unicode code points), a blank between words included."""

    name = "cer"
    heading = "CER"
    _process = staticmethod(process_characters)

    def signature_fields(self) -> str:
        return f"multi:best|level:character|{self._case()}|space:joined"


VERSION = f"jiwer.{version('jiwer')}"


def equal_units(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> list[list[tuple[int, int]]]:
    """Returns for each hypothesis the pairs (position in it, position in its reference) of units that are equal in an
    alignment of the fewest edits. Units are without blanks."""
    pairs: list[list[tuple[int, int]]] = [[] for _ in references]
    numbers = [i for i, reference in enumerate(references) if reference]
    if numbers:
        output = process_words([" ".join(references[i]) for i in numbers], [" ".join(hypotheses[i]) for i in numbers])
        for i, chunks in zip(numbers, output.alignments, strict=True):
            for chunk in chunks:
                if chunk.type == "equal":
                    begin = chunk.ref_start_idx
                    end = chunk.ref_end_idx
                    pairs[i] += zip(range(chunk.hyp_start_idx, chunk.hyp_end_idx), range(begin, end), strict=True)
    return pairs


def _errors(process: Callable[..., Any], hypotheses: Sequence[str], references: References) -> np.ndarray:
    """Returns [N, 5]: edits, units of the reference, substitutions, deletions and insertions, of the reference with the
    fewest edits per unit."""
    owners = [i for i, group in enumerate(references) for _ in group]
    output = process([text for group in references for text in group], [hypotheses[i] for i in owners])
    best: dict[int, tuple[float, ...]] = {}
    for i, chunks, units in zip(owners, output.alignments, output.references, strict=True):
        kinds = dict.fromkeys(("substitute", "delete", "insert"), 0)
        for chunk in chunks:
            if chunk.type != "equal":
                length = chunk.ref_end_idx - chunk.ref_start_idx
                kinds[chunk.type] += max(length, chunk.hyp_end_idx - chunk.hyp_start_idx)
        edits = sum(kinds.values())
        candidate = (edits / max(len(units), 1), edits, len(units), *kinds.values())
        best[i] = min(best.get(i, candidate), candidate)
    return np.array([best[i][1:] for i in range(len(references))])
