"""Repetition and what deletion keeps, against definitions in loops."""

import itertools
import random

import pytest

from mt.metrics.repetition import length_ratio, repeated_trigrams, spans, text_statistics

LONG = ["the old man saw the sea again today", "a dog runs", "one two three four five six", "no word is missing here"]
SHORT = ["the man saw the sea", "a dog", "one three four six", "no word is missing here"]


def repeats(text: str) -> bool:
    words = text.split()
    places = range(len(words) - 2)
    return any(words[i : i + 3] == words[j : j + 3] for i, j in itertools.combinations(places, 2))


def fewest_spans(source: str, text: str) -> int:
    """Tries every choice of places."""
    places = source.split()
    words = text.split()
    counts = []
    for chosen in itertools.combinations(range(len(places)), len(words)):
        if words and [places[i] for i in chosen] == words:
            counts.append(1 + sum(later != earlier + 1 for earlier, later in itertools.pairwise(chosen)))
    return min(counts, default=0)


@pytest.mark.parametrize("seed", range(6))
def test_equals_the_definitions(seed: int):
    draw = random.Random(seed)
    texts = [" ".join(draw.choices("abc", k=draw.randint(0, 12))) for _ in range(20)]
    assert repeated_trigrams(texts) == 5 * sum(map(repeats, texts))
    for source, text in itertools.pairwise(texts):
        part = " ".join(word for word in source.split() if draw.random() < 0.6)
        for one in (text, part, source):
            assert spans(source, one) == fewest_spans(source, one)


def test_repetition_is_counted_beside_that_of_the_references():
    again = "he said that he said that he said so"
    result = text_statistics([again, "fine", "", again], ["fine", again, "fine", "fine"], None)
    ratios = {"repeated_trigrams": 50.0, "repeated_trigrams_of_references": 25.0}
    assert result == {"length_ratio": pytest.approx((9 + 1 + 0 + 9) / (1 + 9 + 1 + 1)), **ratios}
    assert text_statistics(["x"] * 4, ["some", "other", "words", "here"], LONG).keys() == result.keys()


def test_characters_are_counted_where_nothing_stands_between_words():
    assert repeated_trigrams(["今天天气今天天好", "今天从早上开始下雨"]) == 50.0
    texts = ["今天 天气", "two words"], ["今天从早上开始下雨", "one word only"]
    assert length_ratio(*texts) == pytest.approx((4 + 2) / (9 + 3))
    assert length_ratio([], []) == length_ratio([""], ["a"]) == 0


def test_what_deletion_keeps_is_counted_where_the_references_delete():
    outputs = ["the old man saw", "a dog", "one two and six", ""]
    result = text_statistics(outputs, SHORT, LONG)
    assert result.pop("length_ratio") == pytest.approx(10 / sum(len(text.split()) for text in SHORT))
    own = {"repeated_trigrams": 0.0, "deletions": 50.0, "prefixes": 50.0, "spans": 1.0}
    theirs = {"repeated_trigrams": 0.0, "deletions": 100.0, "prefixes": 50.0, "spans": (2 + 1 + 3 + 1) / 4}
    assert result == pytest.approx(own | {f"{name}_of_references": value for name, value in theirs.items()})


def test_what_is_left_may_have_a_capital_and_a_full_stop():
    sources = ["On Monday, the old man saw the sea.", 'He said: "no word is missing here", and left.']
    references = ["The old man saw the sea.", "No word is missing."]
    result = text_statistics(["On Monday, the man.", "He said no word!"], references, sources)
    assert result["deletions"] == result["deletions_of_references"] == 100.0
    assert (result["prefixes"], result["prefixes_of_references"]) == (50.0, 0.0)
    assert (result["spans"], result["spans_of_references"]) == (1.5, 1.0)
