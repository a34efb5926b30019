"""When units were written and where attention stopped, by hand, and against a plain edit distance."""

import random
from itertools import pairwise

import numpy as np
import pytest

from mt.errors import UserError
from mt.metrics.wer import Timed, equal_units, parse_spans, timing

SPANS = [(100, 200), (250, 400), (500, 650)]


def timed(units: str, written: list[float] | None, stops: list[list[float]] | None = None) -> Timed:
    return Timed([*units], written, stops, [*"abc"], SPANS)


def test_the_vector_by_hand():
    """`c` of the first is wrong, and `x` was never said."""
    result = [
        timed("abx", [260, 500, 700], [[150], [401], [600]]),
        timed("xbc", [0, 430, 640], [[1], [250, 399], [650]]),
    ]
    scores = timing(result, "char")
    late = [60, 100, 30, -10]
    assert scores["emission_ms"].score == np.median(late) == 45
    assert scores["emission_ms_p95"].score == pytest.approx(np.percentile(late, 95))
    assert scores["stops_inside"].score == pytest.approx(100 * 4 / 5)
    assert scores["emission_ms"].signature.startswith("n:4|unit:char|of:right|version:jiwer.")
    assert scores["stops_inside"].signature.startswith("n:5|")


def test_what_was_not_measured_has_no_score():
    assert timing([timed("abc", None)], "word") == timing([timed("xyz", [1, 2, 3], [[1], [2], [3]])], "word") == {}
    assert list(timing([timed("abc", [1, 2, 3])], "word")) == ["emission_ms", "emission_ms_p95"]
    scores = timing([timed("abc", None, [[150], [float("nan")], []])], "word")
    assert {name: score.score for name, score in scores.items()} == {"stops_inside": 50}
    assert timing([Timed([], [], [], [*"abc"], SPANS), Timed([*"abc"], [], [], [], [])], "word") == {}


def distance(one: str, other: str) -> int:
    row = [*range(len(other) + 1)]
    for i, a in enumerate(one, start=1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, start=1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def test_right_units_are_of_an_alignment_of_the_fewest_edits():
    draw = random.Random(1)
    for _ in range(200):
        hypothesis, reference = ("".join(draw.choices("abc", k=draw.randint(0, 7))) for _ in range(2))
        [pairs] = equal_units([[*hypothesis]], [[*reference]])
        assert all(hypothesis[i] == reference[j] for i, j in pairs)
        assert all(before[0] < after[0] and before[1] < after[1] for before, after in pairwise(pairs))
        # Between them as many edits as the longer side has units.
        edges = [(-1, -1), *pairs, (len(hypothesis), len(reference))]
        gaps = [(b[0] - a[0] - 1, b[1] - a[1] - 1) for a, b in pairwise(edges)]
        assert sum(map(max, gaps)) == distance(hypothesis, reference)


def test_spans_are_parsed():
    assert parse_spans("100-200 250-400  500-650", "x") == SPANS and parse_spans("", "x") == []
    for wrong in ("100", "200-100", "1.5-2", "a-b", "1-2-3"):
        with pytest.raises(UserError, match=r"^times of example 3: '.*' does not say when units begin and end, as"):
            parse_spans(wrong, "times of example 3")
