"""The oracles are jiwer's own rates: over a corpus, and over the best reference of each sentence."""

import random
from collections.abc import Sequence
from importlib.metadata import version
from itertools import pairwise

import jiwer
import numpy as np
import pytest

from mt.metrics.wer import Accuracy, Cer, Per, PronunciationWer, Timed, Wer, equal_units, parse_spans, timing
from tests.refusals.sentences import require_refusal


def joined(texts: list[str]) -> list[str]:
    """With one blank between words, as metrics compare texts."""
    return [" ".join(text.split()) for text in texts]


def score(metric, hypotheses, references) -> float:
    [result] = metric.score(hypotheses, references).values()
    return result.score


@pytest.mark.parametrize(
    ("metric", "process"), [(Wer(), jiwer.process_words), (Cer(), jiwer.process_characters)], ids=["wer", "cer"]
)
def test_a_thousand_pairs_and_the_kinds_of_their_errors(metric, process, random_corpus) -> None:
    hypotheses, references = random_corpus(7, count=1_000)
    expected = process(joined([group[0] for group in references]), joined(hypotheses))
    [actual] = metric.score(hypotheses, references).values()
    assert actual.score == pytest.approx(100 * (expected.wer if metric.name == "wer" else expected.cer), abs=1e-9)
    kinds = actual.substitutions, actual.deletions, actual.insertions
    assert kinds == (expected.substitutions, expected.deletions, expected.insertions)
    assert all(kinds) and actual.units == sum(map(len, expected.references))
    assert actual.signature.endswith(f"|n:1000|version:jiwer.{version('jiwer')}")


def test_by_hand() -> None:
    [result] = Wer().score(["the cat sat down", "x"], [["a cat sat"], ["x y z"]]).values()
    assert (result.substitutions, result.insertions, result.deletions, result.units) == (1, 1, 2, 6)
    assert score(Wer(), ["a b"], [[""]]) == 200 and score(Wer(), [""], [[""]]) == 0
    assert result.score == pytest.approx(400 / 6)
    assert score(Cer(), ["ab c"], [["abc"]]) == pytest.approx(100 / 3)
    # 1 of 2 words against 1 of 3: the second reference, over whose three words the error counts.
    assert score(Wer(), ["a b c"], [["a b"]]) == pytest.approx(50)
    for group in (["a b", "a b d"], ["a b d", "a b"]):
        assert score(Wer(), ["a b c"], [group]) == pytest.approx(100 / 3)


def levenshtein(one: Sequence[str], other: Sequence[str]) -> int:
    """Edits, by the recurrence as it is written: the first row and column count up."""
    table = [[*range(len(other) + 1)]]
    for i, phone in enumerate(one, 1):
        table.append([i])
        for j, wanted in enumerate(other, 1):
            table[i].append(min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (phone != wanted)))
    return table[-1][-1]


def test_pronunciations_against_the_recurrence() -> None:
    draw = random.Random(3)
    drawn = lambda: [draw.choice(["a", "aː", "t͡ʃ", "b"]) for _ in range(draw.randint(1, 7))]  # noqa: E731
    words = [(drawn(), [drawn() for _ in range(draw.randint(1, 3))]) for _ in range(300)]
    edits = length = wrong = 0
    for phones, group in words:
        best = min(levenshtein(phones, reference) for reference in group)
        edits += best
        length += max(len(reference) for reference in group if levenshtein(phones, reference) == best)
        wrong += phones not in group
    hypotheses = [" ".join(phones) for phones, _ in words]
    references = [[" ".join(reference) for reference in group] for _, group in words]
    assert score(Per(), hypotheses, references) == pytest.approx(100 * edits / length)
    assert score(PronunciationWer(), hypotheses, references) == pytest.approx(100 * wrong / 300)
    assert score(Accuracy(), hypotheses, references) == pytest.approx(100 - 100 * wrong / 300)


def test_signatures() -> None:
    [wer], [cer] = (metric.score(["a"], [["a", "b"]]).values() for metric in (Wer(), Cer()))
    end = f"|n:1|version:jiwer.{version('jiwer')}"
    assert wer.signature == f"nrefs:2|multi:best|level:word|case:mixed|tok:blanks{end}"
    assert cer.signature == f"nrefs:2|multi:best|level:character|case:mixed|space:joined{end}"


def test_accuracy() -> None:
    references = [["Anna"], ["Otto", "otto "], ["Eva"], ["a  b"]]
    result = Accuracy().score(["Anna", "otto", "eva", " a b"], references)["accuracy"]
    assert result.score == pytest.approx(75)
    assert result.signature == "nrefs:var|multi:any|case:mixed|space:joined|n:4"


# When units were written and where attention stopped, by hand, and against a plain edit distance.
SPANS = [(100, 200), (250, 400), (500, 650)]


def timed(units: str, written: list[float] | None, stops: list[list[float]] | None = None) -> Timed:
    return Timed([*units], written, stops, [*"abc"], SPANS)


def test_the_vector_by_hand():
    """`c` of the first is wrong, and `x` was never said."""
    first = timed("abx", [260, 500, 700], [[150], [401], [600]])
    second = timed("xbc", [0, 430, 640], [[1], [250, 399], [650]])
    scores = timing([first, second], "char")
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
        assert sum(map(max, gaps)) == levenshtein(hypothesis, reference)


def test_spans_are_parsed():
    assert parse_spans("100-200 250-400  500-650", "x") == SPANS and parse_spans("", "x") == []
    for wrong in ("100", "200-100", "1.5-2", "a-b", "1-2-3"):
        sentence = "^times of example 3: '.*' does not say when units begin and end, as"
        require_refusal(lambda wrong=wrong: parse_spans(wrong, "times of example 3"), sentence)
