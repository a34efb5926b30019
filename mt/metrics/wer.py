"""Accuracy, word and character error rate, then the timing of recognised units. jiwer, which counts errors, is used
only here."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from mt.errors import UserError
from mt.metrics.base import RatioMetric, References, Score

Units = Literal["words", "characters"]


class Accuracy(RatioMetric):
    """The percentage of hypotheses that equal one of their references; for single words and other short outputs. Case
    and punctuation matter."""

    name = "accuracy"
    higher_is_better = True
    heading = "accuracy"
    signature_fields = "multi:any|{case}|space:joined"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        hits = [text in group for text, group in zip(hypotheses, references, strict=True)]
        return {self.name: np.column_stack([hits, np.ones(len(hits))])}


class PronunciationWer(Accuracy):
    """The percentage of words whose hypothesis equals none of their references: the word error rate of pronunciation
    models, whose words are whole lines. It is what `Accuracy` leaves of 100."""

    name = "pron_wer"
    higher_is_better = False
    heading = "WER"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        hits = super().counts(hypotheses, references)[self.name]
        return {self.name: np.column_stack([hits[:, 1] - hits[:, 0], hits[:, 1]])}


@dataclass(frozen=True)
class ErrorRate(Score):
    """An error rate, and the numbers of its errors by kind. Units are words or characters."""

    substitutions: int
    deletions: int
    """Units of the references that hypotheses lack."""
    insertions: int
    """Units of the hypotheses that references lack."""
    units: int
    """All units of the references that hypotheses are compared with."""


class _Rate(RatioMetric):
    """Errors per unit of the reference, in percent, which may exceed 100. Each sentence is compared with the reference
    that gives the lowest rate."""

    higher_is_better = False
    library = "jiwer"
    _units: ClassVar[Units]
    """The unit in which errors are counted."""
    _by_rate: ClassVar[bool] = True
    """Whether the reference with the lowest rate counts, and not the one with the fewest edits."""

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        return {self.name: _errors(self._units, hypotheses, references, by_rate=self._by_rate)[:, :2]}

    def _scores(self, hypotheses: Sequence[str], references: References) -> dict[str, Score]:
        signature = self._signature(references)
        sums = _errors(self._units, hypotheses, references, by_rate=self._by_rate).sum(0)
        kinds = dict(zip(("units", "substitutions", "deletions", "insertions"), map(int, sums[1:]), strict=True))
        return {self.name: ErrorRate(float(self.score_of_sums(sums[:2])), signature, **kinds)}


class Wer(_Rate):
    """Word error rate: substitutions, insertions and deletions per word of the reference. Words stand between blanks;
    case and punctuation matter."""

    name = "wer"
    heading = "WER"
    instead = "cer"
    _units = "words"
    signature_fields = "multi:best|level:word|{case}|tok:blanks"


class Cer(_Rate):
    """Character error rate: as `Wer`, but over characters (Unicode code points), blanks between words included."""

    name = "cer"
    heading = "CER"
    _units = "characters"
    signature_fields = "multi:best|level:character|{case}|space:joined"


class Per(_Rate):
    """Phone error rate: edits (Levenshtein) per phone of the references, over all words. Phones stand between blanks.
    Each word is compared with the reference of the fewest edits, of equal ones with the longest."""

    name = "per"
    heading = "PER"
    _units = "words"
    _by_rate = False
    signature_fields = "multi:closest|level:phone|{case}|tok:blanks"


VERSION = f"jiwer.{version('jiwer')}"


def equal_units(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> list[list[tuple[int, int]]]:
    """Aligns each hypothesis with its reference by the fewest edits, and returns the positions (in the hypothesis, in
    the reference) of equal units. Units must not contain blanks."""
    pairs: list[list[tuple[int, int]]] = [[] for _ in references]
    # jiwer refuses empty references, which have no equal units anyway.
    numbers = [i for i, reference in enumerate(references) if reference]
    if numbers:
        output = _aligned(
            "words", [" ".join(references[i]) for i in numbers], [" ".join(hypotheses[i]) for i in numbers]
        )
        for i, chunks in zip(numbers, output.alignments, strict=True):
            for chunk in chunks:
                if chunk.type == "equal":
                    in_reference = range(chunk.ref_start_idx, chunk.ref_end_idx)
                    pairs[i] += zip(range(chunk.hyp_start_idx, chunk.hyp_end_idx), in_reference, strict=True)
    return pairs


def _aligned(units: Units, references: list[str], hypotheses: list[str]) -> Any:
    import jiwer  # imported late: most commands count no errors

    return (jiwer.process_words if units == "words" else jiwer.process_characters)(references, hypotheses)


def _errors(units_of_texts: Units, hypotheses: Sequence[str], references: References, *, by_rate: bool) -> np.ndarray:
    """Returns [N, 5]: edits, units of the reference, substitutions, deletions and insertions, for the reference with
    the fewest edits per unit or, without `by_rate`, the fewest edits."""
    # All pairs of hypothesis and reference are aligned at once.
    owners = [i for i, group in enumerate(references) for _ in group]
    output = _aligned(units_of_texts, [text for group in references for text in group], [hypotheses[i] for i in owners])
    best: dict[int, tuple[float, ...]] = {}
    for i, chunks, units in zip(owners, output.alignments, output.references, strict=True):
        kinds = dict.fromkeys(("substitute", "delete", "insert"), 0)
        for chunk in chunks:
            if chunk.type != "equal":
                # An insertion has no length in the reference, and a deletion none in the hypothesis.
                length = chunk.ref_end_idx - chunk.ref_start_idx
                kinds[chunk.type] += max(length, chunk.hyp_end_idx - chunk.hyp_start_idx)
        # Of equal references the one with the fewer edits counts, or with the lower rate.
        edits = sum(kinds.values())
        rate = edits / max(len(units), 1)
        candidate = (rate if by_rate else edits, edits if by_rate else rate, edits, len(units), *kinds.values())
        best[i] = min(best.get(i, candidate), candidate)
    return np.array([best[i][2:] for i in range(len(references))])


# The times at which units (words or characters) were written and attended to, against those at which they were spoken.
# Hypotheses are aligned with references by edit distance, and only equal units count.

Span = tuple[int, int]
"""The begin and the end of a unit, in milliseconds."""

_SPAN = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)


class Timed(NamedTuple):
    """A hypothesis and its reference with times."""

    units: Sequence[str]
    """The units of the hypothesis."""
    written: Sequence[float] | None
    """The time at which each unit was written, in milliseconds of the source; None if decoding was not online."""
    stops: Sequence[Sequence[float]] | None
    """The times at which hard attention stopped for each unit, nan if it selected nothing; None for soft attention."""
    reference: Sequence[str]
    spans: Sequence[Span]
    """The times of the units of the reference."""


def parse_spans(line: str, name: str) -> list[Span]:
    """Reads a line such as `120-722 830-1254`. Raises UserError for any other. name: the name of the line in errors."""
    matches = [_SPAN.fullmatch(span) for span in line.split()]
    spans = [(int(match[1]), int(match[2])) for match in matches if match]
    if len(spans) < len(matches) or any(begin > end for begin, end in spans):
        raise UserError(f"{name}: {line!r} does not say when units begin and end, as `120-722 830-1254` does, in ms")
    return spans


def timing(sentences: Sequence[Timed], unit: str, *, lowercase: bool = False) -> dict[str, Score]:
    """Computes `emission_ms` and `emission_ms_p95`, the median and the 95th percentile of the milliseconds from the end
    of a unit until it is written, and `stops_inside`, the percentage of hard stops for a unit that lie within the unit.
    Scores that cannot be measured are left out. unit, lowercase: for the signature."""
    # How late right units were written, and whether attention stopped within them.
    pairs = equal_units([sentence.units for sentence in sentences], [sentence.reference for sentence in sentences])
    matched = list(zip(sentences, pairs, strict=True))
    late = [timed.written[i] - timed.spans[j][1] for timed, equal in matched if timed.written for i, j in equal]
    inside = [hit for timed, equal in matched for hit in _stops_inside(timed, equal)]

    def scored(value: float, count: int) -> Score:
        return Score(value, f"n:{count}|unit:{unit}|of:right{'|case:lc' if lowercase else ''}|version:{VERSION}")

    # What was not decoded online has no times, and a soft attention no stops.
    scores: dict[str, Score] = {}
    if late:
        scores["emission_ms"] = scored(float(np.median(late)), len(late))
        scores["emission_ms_p95"] = scored(float(np.percentile(late, 95)), len(late))
    if inside:
        scores["stops_inside"] = scored(100 * float(np.mean(inside)), len(inside))
    return scores


def _stops_inside(sentence: Timed, pairs: Sequence[tuple[int, int]]) -> Iterator[bool]:
    """Yields for each stop whether it lies within the unit that it was for. pairs: the result of
    `equal_units`."""
    if sentence.stops is None:
        return
    for i, j in pairs:
        begin, end = sentence.spans[j]
        yield from (begin <= stop <= end for stop in sentence.stops[i])
