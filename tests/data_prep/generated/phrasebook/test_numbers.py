import pytest

from data_prep.generated.phrasebook.numbers import (
    cardinal_de,
    cardinal_en,
    ordinal_de,
    ordinal_en,
    price,
    price_in_digits,
)


@pytest.mark.parametrize(
    ("n", "english", "german"),
    [
        (1, "one", "eins"),
        (16, "sixteen", "sechzehn"),
        (17, "seventeen", "siebzehn"),
        (21, "twenty-one", "einundzwanzig"),
        (30, "thirty", "dreißig"),
        (66, "sixty-six", "sechsundsechzig"),
        (77, "seventy-seven", "siebenundsiebzig"),
        (100, "one hundred", "hundert"),
        (101, "one hundred and one", "hunderteins"),
        (221, "two hundred and twenty-one", "zweihunderteinundzwanzig"),
        (999, "nine hundred and ninety-nine", "neunhundertneunundneunzig"),
    ],
)
def test_cardinals(n, english, german):
    assert (cardinal_en(n), cardinal_de(n)) == (english, german)


@pytest.mark.parametrize(
    ("n", "english", "german"),
    [
        (1, "first", "ersten"),
        (2, "second", "zweiten"),
        (3, "third", "dritten"),
        (5, "fifth", "fünften"),
        (7, "seventh", "siebten"),
        (8, "eighth", "achten"),
        (9, "ninth", "neunten"),
        (12, "twelfth", "zwölften"),
        (19, "nineteenth", "neunzehnten"),
        (20, "twentieth", "zwanzigsten"),
        (21, "twenty-first", "einundzwanzigsten"),
        (31, "thirty-first", "einunddreißigsten"),
    ],
)
def test_ordinals(n, english, german):
    assert (ordinal_en(n), ordinal_de(n, "en")) == (english, german)


def test_prices():
    assert price(12, 50).forms == {"en": "twelve/n euros/euro fifty/c", "de": "zwölf/n Euro/euro fünfzig/c"}
    assert price(31, 0).forms == {"en": "thirty-one/n euros/euro", "de": "einunddreißig/n Euro/euro"}
    assert price_in_digits(12, 5).forms == {"en": "12.05/n euros/euro", "de": "12,05/n Euro/euro"}
