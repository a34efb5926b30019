import re
from random import Random

import pytest

from data_prep.generated.phrasebook import GRAMMAR, RULES, Example, generate, realise, words
from data_prep.generated.phrasebook.grammar import Grammar, Phrase, Rule
from data_prep.generated.phrasebook.nouns import THE, Noun, counted, noun_phrase
from data_prep.generated.phrasebook.numbers import number, price
from data_prep.generated.phrasebook.times import clock, clock_in_digits, date


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Example]]:
    return generate()


def pairs(example: Example) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in (link.split("-") for link in example.links.split())]


# The whole set


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


THIRD_OF_MAY = date(3, "May")
RED_COAT = noun_phrase(THE, Noun.of("coat, coats: der Mantel, Mäntel"), ("red", "rot"))
TWO_SHIRTS = counted(2, Noun.of("shirt, shirts: das Hemd, Hemden"), ("blue", "blau"))


@pytest.mark.parametrize(
    ("example", "english", "german"),
    [
        pytest.param(
            translate("the/1 train/2", city="Cologne", departure="at {clock}", clock=clock(7, 30), platform=number(21)),
            "The train to Cologne leaves at half past seven from platform twenty-one.",
            "Der Zug nach Köln fährt um halb acht von Gleis einundzwanzig ab.",
            id="separable verb",
        ),
        pytest.param(
            translate("{day} {outgoing}", day="on {weekday}", weekday="Monday", line="the bus", city="Vienna",
                      departure="at {digits}", digits=clock_in_digits(15, 40)),
            "On Monday the bus to Vienna leaves at 15:40.",
            "Am Montag fährt der Bus nach Wien um 15.40 Uhr ab.",
            id="verb second after a fronted adverbial",
        ),
        pytest.param(
            translate("{*who} would/1 like/1 to know", who="she", item=RED_COAT, price=price(80, 50)),
            "She would like to know whether the red coat costs less than eighty euros fifty.",
            "Sie möchte wissen, ob der rote Mantel weniger als achtzig Euro fünfzig kostet.",
            id="verb-final with ob",
        ),
        pytest.param(
            translate("{*who} hope", who="we", delivery="the parcel", date=THIRD_OF_MAY),
            "We hope that the parcel will arrive before the third of May.",
            "Wir hoffen, dass das Paket vor dem dritten Mai ankommt.",
            id="verb-final with dass, separable verb joined",
        ),
        pytest.param(
            translate("{*who} am|is|are/1 late", who="I", line="the regional train", city="Munich",
                      minutes=counted(20, Noun.of("minute, minutes: die Minute, Minuten"))),
            "I am late because the regional train from Munich arrived twenty minutes late.",
            "Ich komme zu spät, weil die Regionalbahn aus München mit zwanzig Minuten Verspätung angekommen ist.",
            id="verb-final with weil, participle before auxiliary",
        ),
        pytest.param(
            translate("if/1 you/2", pieces=TWO_SHIRTS, price=price(31, 0)),
            "If you buy two blue shirts, you only pay thirty-one euros.",
            "Wenn Sie zwei blaue Hemden kaufen, zahlen Sie nur einunddreißig Euro.",
            id="wenn, then the verb first",
        ),
        pytest.param(
            translate("{*who} have|has|have/1 to/1 cancel", who="my parents", event="the dentist appointment",
                      day="tomorrow"),
            "My parents have to cancel the dentist appointment tomorrow.",
            "Meine Eltern müssen den Zahnarzttermin morgen absagen.",
            id="modal with infinitive at the end, compound",
        ),
        pytest.param(
            translate("{*who} have|has|have/1 reserved", who="he", guests=number(12), for_day="for {evening}",
                      evening="Friday evening"),
            "He has reserved a table for twelve people for Friday evening.",
            "Er hat für Freitagabend einen Tisch für zwölf Personen reserviert.",
            id="participle at the end",
        ),
        pytest.param(
            translate("{appointment} has/1", appointment="the dentist appointment", to_day="to {weekday}",
                      weekday="Tuesday"),
            "The dentist appointment has been moved to Tuesday.",
            "Der Zahnarzttermin wurde auf Dienstag verschoben.",
            id="passive",
        ),
        pytest.param(
            translate("{*addressee} ,/1 if", addressee="Anna", clock=clock(3, 15), pick_up="at the airport"),
            "Anna, if you arrive at a quarter past three, I will pick you up at the airport.",
            "Anna, wenn du um Viertel nach drei ankommst, hole ich dich am Flughafen ab.",
            id="du",
        ),
        pytest.param(
            translate("{*addressee} ,/1 please", addressee="Mr Keller", whom="Mr Vogel", when="at {clock} {day}",
                      clock=clock(12, 30), day="tomorrow"),
            "Mr Keller, please call Mr Vogel at half past twelve tomorrow.",
            "Herr Keller, rufen Sie bitte Herrn Vogel morgen um halb eins an.",
            id="Sie, and Herr in the accusative",
        ),
    ],
)  # fmt: skip
def test_sentences(example, english, german):
    assert (example.source, example.target) == (english, german)


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
