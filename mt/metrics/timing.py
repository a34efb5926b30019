"""Compares when the units of a target were written, and where attention was, with when they were spoken.

Units are words or characters of which it is known when they begin and end in the source. A hypothesis is aligned with
its reference by edit distance, and only units that are equal count: a unit that was not spoken has no end.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mt.errors import UserError
from mt.metrics.score import Score
from mt.metrics.wer import VERSION, equal_units

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
    """Reads `120-722 830-1254`. name: what to call the line in an error. Raises UserError where it is something
    else."""
    matches = [_SPAN.fullmatch(part) for part in line.split()]
    spans = [(int(match[1]), int(match[2])) for match in matches if match]
    if len(spans) < len(matches) or any(begin > end for begin, end in spans):
        raise UserError(f"{name}: {line!r} does not say when units begin and end, as `120-722 830-1254` does, in ms")
    return spans


def timing(sentences: Sequence[Timed], unit: str, *, lowercase: bool = False) -> dict[str, Score]:
    """Computes `emission_ms` and `emission_ms_p95`: how many milliseconds after a unit's end it is written, median and
    95th percentile (less than 0: before its end); and `stops_inside`: the percentage of the hard stops for a unit that
    lie within it. Scores that cannot be measured are left out.

    unit, lowercase: what units are, for the signature.
    """
    pairs = equal_units([one.units for one in sentences], [one.reference for one in sentences])
    matched = list(zip(sentences, pairs, strict=True))
    late = [one.written[i] - one.spans[j][1] for one, equal in matched if one.written for i, j in equal]
    inside = [hit for one, equal in matched for hit in _stops_inside(one, equal)]

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
