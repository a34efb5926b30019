import re
from random import Random

from data_prep.generated.bulletin.facts import LEXICON, NAMES, UNSEEN, names


def draws(category: str) -> list[dict[str, str]]:
    source = LEXICON[category]
    assert callable(source)
    rng = Random(0)
    return [dict(source(rng)) for _ in range(500)]


def test_small_numbers_are_words_in_texts_and_digits_in_headlines():
    facts = draws("few")
    assert {"text": "two", "digits": "2"} in facts
    assert {"text": "nine", "digits": "9"} in facts
    assert len({fact["text"] for fact in facts}) == 8


def test_amounts():
    assert all(re.fullmatch(r"\d{1,2},[05]00", fact["text"]) for fact in draws("thousands"))
    for fact in draws("money") + draws("fortune"):
        amount = re.fullmatch(r"\$(\d+(?:\.[1-9])?) million", fact["text"])
        assert amount
        assert fact["short"] == f"${amount[1]}m"


def test_pronouns_fit_the_first_name():
    pronouns = {(fact["he"], fact["his"], fact["him"]) for fact in draws("person")}
    assert pronouns == {("he", "his", "him"), ("she", "her", "her")}
    for fact in draws("person"):
        first, last = fact["text"].split()
        assert first in names("woman" if fact["he"] == "she" else "man")
        assert fact["short"] == last


def test_names_are_distinct_within_and_between_shared_and_unshared():
    shared = {kind: text for (kind, splits), text in NAMES.items() if splits == ""}
    for kind in shared:
        assert len(names(kind)) == len(set(names(kind))) >= 17
    unshared = [text for (_, splits), text in NAMES.items() if splits == "unseen"]
    assert len(UNSEEN) == sum(len(name.split("/")) for text in unshared for name in text)
    assert UNSEEN.isdisjoint({word for text in shared.values() for name in text for word in name.split("/")})
