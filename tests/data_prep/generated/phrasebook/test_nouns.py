import re

import pytest

from data_prep.generated.phrasebook.grammar import Phrase
from data_prep.generated.phrasebook.nouns import MY, THE, Noun, counted, measured, noun_phrase


def plain(phrase: Phrase, form: str) -> str:
    return re.sub(r"/\S+", "", phrase.forms[form])


@pytest.mark.parametrize(
    ("phrase", "english", "nominative", "accusative", "dative"),
    [
        ("the", "the red coat", "der rote Mantel", "den roten Mantel", "dem roten Mantel"),
        ("a", "a red coat", "ein roter Mantel", "einen roten Mantel", "einem roten Mantel"),
        ("two", "two red coats", "zwei rote Mäntel", "zwei rote Mäntel", "zwei roten Mänteln"),
        ("the plural", "the red coats", "die roten Mäntel", "die roten Mäntel", "den roten Mänteln"),
        ("my", "my red coat", "mein roter Mantel", "meinen roten Mantel", "meinem roten Mantel"),
    ],
)
def test_articles_and_adjectives_agree(phrase, english, nominative, accusative, dative):
    coat = Noun.of("coat, coats: der Mantel, Mäntel")
    red = ("red", "rot")
    declined = {
        "the": noun_phrase(THE, coat, red),
        "a": counted(1, coat, red),
        "two": counted(2, coat, red),
        "the plural": noun_phrase(THE, coat, red, plural=True),
        "my": noun_phrase(MY, coat, red),
    }[phrase]
    assert [plain(declined, form) for form in ("en", "nom", "acc", "dat")] == [english, nominative, accusative, dative]


@pytest.mark.parametrize(
    ("entry", "n", "english", "accusative", "dative"),
    [
        ("apple, apples: der Apfel, Äpfel", 1, "an apple", "einen Apfel", "einem Apfel"),
        ("apple, apples: der Apfel, Äpfel", 2, "two apples", "zwei Äpfel", "zwei Äpfeln"),
        ("bag, bags: die Tasche, Taschen", 1, "a bag", "eine Tasche", "einer Tasche"),
        ("shirt, shirts: das Hemd, Hemden", 1, "a shirt", "ein Hemd", "einem Hemd"),
        ("scarf, scarves: der Schal, Schals", 3, "three scarves", "drei Schals", "drei Schals"),
        ("day, days: der Tag, Tage", 12, "twelve days", "zwölf Tage", "zwölf Tagen"),
        ("hour, hours: die Stunde, Stunden", 1, "an hour", "eine Stunde", "einer Stunde"),
        ("year, years: das Jahr, Jahre", 1, "a year", "ein Jahr", "einem Jahr"),
    ],
)
def test_counted_nouns(entry, n, english, accusative, dative):
    phrase = counted(n, Noun.of(entry))
    assert [plain(phrase, form) for form in ("en", "acc", "dat")] == [english, accusative, dative]


def test_measures_keep_their_own_plural():
    kilo = Noun.of("kilo, kilos: das Kilo, Kilo")
    bottle = Noun.of("bottle, bottles: die Flasche, Flaschen")
    assert plain(measured(3, kilo, ("potatoes", "Kartoffeln")), "acc") == "drei Kilo Kartoffeln"
    assert plain(measured(2, bottle, ("red wine", "Rotwein")), "acc") == "zwei Flaschen Rotwein"
    assert measured(2, bottle, ("red wine", "Rotwein")).forms["en"] == ("two/det bottles/noun of red/stuff wine/stuff")
