import re
from random import Random

import pytest

from data_prep.generated.phrasebook import GRAMMAR, RULES, Example, generate, realise, words
from data_prep.generated.phrasebook.grammar import Grammar, Phrase, Rule
from data_prep.generated.phrasebook.nouns import THE, Noun, noun_phrase
from data_prep.generated.phrasebook.numbers import number, price
from data_prep.generated.phrasebook.times import clock


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Example]]:
    return generate()


def pairs(example: Example) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in (link.split("-") for link in example.links.split())]


# Links


def test_links_are_in_range_and_in_order(examples):
    for example in examples:
        result = pairs(example)
        assert result == sorted(set(result)), example
        assert all(i < len(words(example.source)) and j < len(words(example.target)) for i, j in result), example


def test_every_german_word_with_a_counterpart_is_linked(examples):
    unlinked = set()
    for example in examples:
        linked = {j for _, j in pairs(example)}
        unlinked |= {word for j, word in enumerate(words(example.target)) if j not in linked}
    assert unlinked == {",", "Sie"}  # commas before subordinate clauses, and the "Sie" of an imperative


# Sentences


def linked_words(example: Example) -> list[str]:
    source = words(example.source)
    target = words(example.target)
    return [f"{source[i]}={target[j]}" for i, j in (map(int, link.split("-")) for link in example.links.split())]


def translate(start: str, **fills: str | Phrase) -> Example:
    """The example of the rule whose English starts with `start`, with these phrases, named by their English, in it."""
    (rule,) = [rule for rule in RULES["sentence"] if rule.en.startswith(start)]
    categories = {**GRAMMAR.categories, "sentence": [rule]}
    for category, fill in fills.items():
        categories[category] = [fill if isinstance(fill, Phrase) else named(category, fill)]
    return realise(Grammar(categories).draw("sentence", Random(0)))


def named(category: str, english: str) -> Phrase | Rule:
    source = GRAMMAR.categories[category]
    assert not callable(source)
    (result,) = [
        one for one in source if re.sub(r"/\S+", "", one.en if isinstance(one, Rule) else one.forms["en"]) == english
    ]
    return result


RED_COAT = noun_phrase(THE, Noun.of("coat, coats: der Mantel, Mäntel"), ("red", "rot"))


def test_links_of_a_separable_verb_and_of_a_compound_number():
    example = translate(
        "the/1 train/2", city="Cologne", departure="at {clock}", clock=clock(7, 30), platform=number(21)
    )
    # The train to Cologne leaves at half past seven from platform twenty-one .
    # 0   1     2  3       4      5  6    7    8     9    10       11         12
    # Der Zug nach Köln fährt um halb acht von Gleis einundzwanzig ab .
    # 0   1   2    3    4     5  6    7    8   9     10            11 12
    assert example.links == "0-0 1-1 2-2 3-3 4-4 4-11 5-5 6-6 7-6 8-7 9-8 10-9 11-10 12-12"


def test_links_of_a_verb_final_clause():
    example = translate("{*who} would/1 like/1 to know", who="she", item=RED_COAT, price=price(80, 50))
    assert linked_words(example) == [
        "She=Sie", "would=möchte", "like=möchte", "know=wissen", "whether=ob", "the=der", "red=rote", "coat=Mantel",
        "costs=kostet", "less=weniger", "than=als", "eighty=achtzig", "euros=Euro", "fifty=fünfzig", ".=.",
    ]  # fmt: skip


def test_links_of_many_words_to_one():
    example = translate("{appointment} has/1", appointment="the dentist appointment", to_day="to {weekday}",
                        weekday="Tuesday")  # fmt: skip
    assert linked_words(example) == [
        "The=Der", "dentist=Zahnarzttermin", "appointment=Zahnarzttermin", "has=wurde", "been=wurde",
        "moved=verschoben", "to=auf", "Tuesday=Dienstag", ".=.",
    ]  # fmt: skip


def test_words_keeps_numbers_times_and_hyphens_whole():
    assert words("Um 15.40 Uhr, die Fahrplan-App: 12,50 Euro?") == [
        "Um", "15.40", "Uhr", ",", "die", "Fahrplan-App", ":", "12,50", "Euro", "?",
    ]  # fmt: skip
