import re

import pytest

from data_prep.generated.phrasebook.grammar import Phrase
from data_prep.generated.phrasebook.times import clock, clock_in_digits, date


def plain(phrase: Phrase, form: str) -> str:
    return re.sub(r"/\S+", "", phrase.forms[form])


@pytest.mark.parametrize(
    ("hour", "minute", "english", "german"),
    [
        (1, 0, "one o'clock", "ein Uhr"),
        (8, 0, "eight o'clock", "acht Uhr"),
        (3, 15, "a quarter past three", "Viertel nach drei"),
        (7, 20, "twenty past seven", "zwanzig nach sieben"),
        (7, 25, "twenty-five past seven", "fünf vor halb acht"),
        (7, 30, "half past seven", "halb acht"),
        (12, 30, "half past twelve", "halb eins"),
        (7, 35, "twenty-five to eight", "fünf nach halb acht"),
        (8, 40, "twenty to nine", "zwanzig vor neun"),
        (12, 45, "a quarter to one", "Viertel vor eins"),
        (1, 5, "five past one", "fünf nach eins"),
    ],
)
def test_clock(hour, minute, english, german):
    assert (plain(clock(hour, minute), "en"), plain(clock(hour, minute), "de")) == (english, german)


def test_timetable():
    assert clock_in_digits(15, 5).forms == {"en": "15:05/t", "de": "15.05/t Uhr/t"}


def test_date_and_its_nominative():
    march = date(21, "March")
    assert plain(march, "en") == "twenty-first of March"
    assert (plain(march, "de"), plain(march, "nom")) == ("einundzwanzigsten März", "einundzwanzigste März")
