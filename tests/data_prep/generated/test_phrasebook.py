import re
from random import Random

import pytest

from data_prep.generated.phrasebook import GRAMMAR, RULES, Example, generate, realise, words
from data_prep.generated.phrasebook.grammar import Grammar


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Example]]:
    return generate()


@pytest.fixture(scope="module")
def examples(splits: dict[str, list[Example]]) -> list[Example]:
    return [example for split in splits.values() for example in split]


def pairs(example: Example) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in (link.split("-") for link in example.links.split())]


# The whole set


def test_sizes(splits):
    assert {name: len(split) for name, split in splits.items()} == {"train": 20_000, "dev": 1_000, "test": 1_000}


def test_a_function_of_seed_and_sizes():
    sizes = {"train": 50, "test": 10}
    assert generate(2, sizes) == generate(2, sizes) != generate(3, sizes)
    assert list(generate(2, sizes)) == ["train", "test"]


def test_no_sentence_occurs_twice_in_or_across_splits(examples):
    assert len({example.source for example in examples}) == len(examples)


def test_an_english_sentence_has_one_german(examples):
    first = {example.source: example for example in examples}
    again = [example for example in generate(7, {"train": 10_000})["train"] if example.source in first]
    assert len(again) > 1_000
    assert all(first[example.source] == example for example in again)


@pytest.mark.parametrize("rule", RULES["sentence"], ids=lambda rule: rule.en)
def test_every_rule_makes_many_sentences(rule):
    rng = Random(0)
    grammar = Grammar({**GRAMMAR.categories, "sentence": [rule]})
    assert len({realise(grammar.draw("sentence", rng)).source for _ in range(60)}) > 30


def test_text_is_clean(examples):
    for text in (text for example in examples for text in (example.source, example.target)):
        assert re.fullmatch(r"[A-ZÄÖÜ][\w ,.:'-]*[^ ][.?]", text), text
        assert not re.search(r"  | [.,?]|_", text), text


def test_lengths(splits):
    mean = sum(len(words(example.target)) for example in splits["train"]) / 20_000
    assert 8 <= mean <= 14
    assert max(len(words(example.source)) for example in splits["train"]) <= 30


# Links


def test_links_are_in_range_and_in_order(examples):
    for example in examples:
        result = pairs(example)
        assert result == sorted(set(result)), example
        assert all(i < len(words(example.source)) and j < len(words(example.target)) for i, j in result), example


def test_the_final_marks_are_linked_to_each_other_alone(examples):
    for example in examples:
        last = len(words(example.source)) - 1, len(words(example.target)) - 1
        assert [pair for pair in pairs(example) if pair[0] == last[0] or pair[1] == last[1]] == [last], example


def test_every_german_word_with_a_counterpart_is_linked(examples):
    unlinked = set()
    for example in examples:
        linked = {j for _, j in pairs(example)}
        unlinked |= {word for j, word in enumerate(words(example.target)) if j not in linked}
    assert unlinked == {",", "Sie"}  # commas before subordinate clauses, and the "Sie" of an imperative


def test_every_english_word_with_a_counterpart_is_linked(examples):
    unlinked = set()
    for example in examples:
        linked = {i for i, _ in pairs(example)}
        unlinked |= {word.lower() for i, word in enumerate(words(example.source)) if i not in linked}
    assert unlinked == {"of", "a", "do", "does", "to"}  # the "a" of "a quarter", the "to" of an infinitive
