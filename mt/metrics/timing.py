"""When the units of a target were written, and where attention was, beside when they were spoken.

Units are words or characters of which it is known when they begin and end in the source. A hypothesis is compared with
its reference by edit distance, and only units that are right count: of what was never said nobody knows when it ended.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mt.errors import UserError
from mt.metrics.score import Score
from mt.metrics.wer import VERSION, right

Span = tuple[int, int]
"""When something begins and ends, in milliseconds."""

_SPAN = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)


class Timed(NamedTuple):
    """A hypothesis and its reference."""

    units: Sequence[str]
    """Of the hypothesis."""
    written: Sequence[float] | None
    """When each was written, in milliseconds of the source; None where it was not decoded online."""
    stops: Sequence[Sequence[float]] | None
    """Where a hard attention stopped for each, likewise, nan where it selected nothing; None where it is soft."""
    reference: Sequence[str]
    spans: Sequence[Span]
    """Of the units of the reference."""


def parse_spans(line: str, name: str) -> list[Span]:
    """`120-722 830-1254`. name: what to call the line. Raises UserError where it is something else."""
    found = [_SPAN.fullmatch(part) for part in line.split()]
    spans = [(int(match[1]), int(match[2])) for match in found if match]
    if len(spans) < len(found) or any(begin > end for begin, end in spans):
        raise UserError(f"{name}: {line!r} does not say when units begin and end, as `120-722 830-1254` does, in ms")
    return spans


def timing(found: Sequence[Timed], unit: str, *, lowercase: bool = False) -> dict[str, Score]:
    """`emission_ms` and `emission_ms_p95`: how many milliseconds after a unit's end it is written, median and 95th
    percentile (less than 0: before its end); `stops_inside`: percentage of the hard stops for a unit that lie within
    it. Each is there where it can be measured. unit, lowercase: what units are, for the signature."""
    pairs = right([one.units for one in found], [one.reference for one in found])
    matched = list(zip(found, pairs, strict=True))
    late = [one.written[i] - one.spans[j][1] for one, both in matched if one.written for i, j in both]
    inside = [hit for one, both in matched for hit in _inside(one, both)]

    def scored(value: float, count: int) -> Score:
        return Score(value, f"n:{count}|unit:{unit}|of:right{'|case:lc' if lowercase else ''}|version:{VERSION}")

    scores: dict[str, Score] = {}
    if late:
        scores["emission_ms"] = scored(float(np.median(late)), len(late))
        scores["emission_ms_p95"] = scored(float(np.percentile(late, 95)), len(late))
    if inside:
        scores["stops_inside"] = scored(100 * float(np.mean(inside)), len(inside))
    return scores


def _inside(one: Timed, pairs: Sequence[tuple[int, int]]) -> Iterator[bool]:
    if one.stops is None:
        return
    for i, j in pairs:
        begin, end = one.spans[j]
        yield from (begin <= stop <= end for stop in one.stops[i])
