"""Accuracy, word and character error rate as jiwer counts them, then the timing of recognised units. The one door to
jiwer."""

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
    """Percentage of hypotheses that equal one of their references; for single words and other short outputs. Case and
    punctuation count."""

    name = "accuracy"
    higher_is_better = True
    heading = "accuracy"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        hits = [text in group for text, group in zip(hypotheses, references, strict=True)]
        return {self.name: np.column_stack([hits, np.ones(len(hits))])}

    def signature_fields(self) -> str:
        return f"multi:any|{self._case()}|space:joined"


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
    _units: ClassVar[Units]
    """What an error is of."""

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        return {self.name: _errors(self._units, hypotheses, references)[:, :2]}

    def _scores(self, hypotheses: Sequence[str], references: References) -> dict[str, Score]:
        signature = self._signature(references)
        sums = _errors(self._units, hypotheses, references).sum(0)
        kinds = dict(zip(("units", "substitutions", "deletions", "insertions"), map(int, sums[1:]), strict=True))
        return {self.name: ErrorRate(float(self.score_of_sums(sums[:2])), signature, **kinds)}


class Wer(_Rate):
    """Word error rate: substitutions, insertions and deletions per word of the reference, between blanks. Case and
    punctuation count."""

    name = "wer"
    heading = "WER"
    instead = "cer"
    _units = "words"

    def signature_fields(self) -> str:
        return f"multi:best|level:word|{self._case()}|tok:blanks"


class Cer(_Rate):
    """Character error rate: as `Wer`, over characters (Unicode code points), a blank between words included."""

    name = "cer"
    heading = "CER"
    _units = "characters"

    def signature_fields(self) -> str:
        return f"multi:best|level:character|{self._case()}|space:joined"


VERSION = f"jiwer.{version('jiwer')}"


def equal_units(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> list[list[tuple[int, int]]]:
    """Returns for each hypothesis the pairs (position in it, in its reference) of units that are equal in an alignment
    of the fewest edits. Units are without blanks."""
    pairs: list[list[tuple[int, int]]] = [[] for _ in references]
    numbers = [i for i, reference in enumerate(references) if reference]
    if numbers:
        output = _aligned(
            "words", [" ".join(references[i]) for i in numbers], [" ".join(hypotheses[i]) for i in numbers]
        )
        for i, chunks in zip(numbers, output.alignments, strict=True):
            for chunk in chunks:
                if chunk.type == "equal":
                    begin = chunk.ref_start_idx
                    end = chunk.ref_end_idx
                    pairs[i] += zip(range(chunk.hyp_start_idx, chunk.hyp_end_idx), range(begin, end), strict=True)
    return pairs


def _aligned(units: Units, references: list[str], hypotheses: list[str]) -> Any:
    import jiwer  # here, since most commands count no errors

    return (jiwer.process_words if units == "words" else jiwer.process_characters)(references, hypotheses)


def _errors(units_of_texts: Units, hypotheses: Sequence[str], references: References) -> np.ndarray:
    """Returns [N, 5]: edits, units of the reference, substitutions, deletions and insertions, of the reference with the
    fewest edits per unit."""
    owners = [i for i, group in enumerate(references) for _ in group]
    output = _aligned(units_of_texts, [text for group in references for text in group], [hypotheses[i] for i in owners])
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


# When units, words or characters, were written, and where attention was, against when they were spoken. A hypothesis is
# aligned with its reference by edit distance, and only units that are equal count.

Span = tuple[int, int]
"""The times at which a unit begins and ends, in milliseconds."""

_SPAN = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)


class Timed(NamedTuple):
    """A hypothesis and its reference."""

    units: Sequence[str]
    """The units of the hypothesis."""
    written: Sequence[float] | None
    """The time at which each was written, in milliseconds of the source; None where it was not decoded online."""
    stops: Sequence[Sequence[float]] | None
    """The times at which a hard attention stopped for each, nan where it selected nothing; None where it is soft."""
    reference: Sequence[str]
    spans: Sequence[Span]
    """The times of the units of the reference."""


def parse_spans(line: str, name: str) -> list[Span]:
    """Reads `120-722 830-1254`. name: what to call the line in the UserError where it is something else."""
    matches = [_SPAN.fullmatch(span) for span in line.split()]
    spans = [(int(match[1]), int(match[2])) for match in matches if match]
    if len(spans) < len(matches) or any(begin > end for begin, end in spans):
        raise UserError(f"{name}: {line!r} does not say when units begin and end, as `120-722 830-1254` does, in ms")
    return spans


def timing(sentences: Sequence[Timed], unit: str, *, lowercase: bool = False) -> dict[str, Score]:
    """Computes `emission_ms` and `emission_ms_p95`, the milliseconds from the end of a unit until it is written, median
    and 95th percentile. `stops_inside` is the percentage of the hard stops for a unit that lie within it. Scores that
    cannot be measured are left out. unit, lowercase: for the signature."""
    pairs = equal_units([sentence.units for sentence in sentences], [sentence.reference for sentence in sentences])
    matched = list(zip(sentences, pairs, strict=True))
    late = [timed.written[i] - timed.spans[j][1] for timed, equal in matched if timed.written for i, j in equal]
    inside = [hit for timed, equal in matched for hit in _stops_inside(timed, equal)]

    def scored(value: float, count: int) -> Score:
        return Score(value, f"n:{count}|unit:{unit}|of:right{'|case:lc' if lowercase else ''}|version:{VERSION}")

    scores: dict[str, Score] = {}
    if late:
        scores["emission_ms"] = scored(float(np.median(late)), len(late))
        scores["emission_ms_p95"] = scored(float(np.percentile(late, 95)), len(late))
    if inside:
        scores["stops_inside"] = scored(100 * float(np.mean(inside)), len(inside))
    return scores


def _stops_inside(sentence: Timed, pairs: Sequence[tuple[int, int]]) -> Iterator[bool]:
    """Yields for each stop for a unit whether it lies within the unit. pairs: the equal units."""
    if sentence.stops is None:
        return
    for i, j in pairs:
        begin, end = sentence.spans[j]
        yield from (begin <= stop <= end for stop in sentence.stops[i])
