"""The categories of words and numbers that the templates name."""

from collections.abc import Callable
from random import Random

from data_prep.generated.phrasebook import vocabulary as v
from data_prep.generated.phrasebook.grammar import Category, Phrase
from data_prep.generated.phrasebook.nouns import CASES, THE, Noun, counted, measured, noun_phrase
from data_prep.generated.phrasebook.numbers import number, price, price_in_digits, tag
from data_prep.generated.phrasebook.times import MONTHS, WEEKDAYS, clock, clock_in_digits, date

Draw = Callable[[Random], Phrase]


def _phrase(en: str, de: str, agreement: int = 0) -> Phrase:
    """Makes a phrase whose words correspond one to one where there are as many, and all to all elsewhere."""
    words_en = en.split()
    words_de = de.split()
    if len(words_en) != len(words_de):
        return Phrase({"en": tag(en, "w"), "de": tag(de, "w")}, agreement, head=en)
    keyed_en, keyed_de = (" ".join(f"{word}/{i}" for i, word in enumerate(words)) for words in (words_en, words_de))
    return Phrase({"en": keyed_en, "de": keyed_de}, agreement, head=en)


def _titled() -> list[Phrase]:
    """Makes names with titles. Herr declines, Frau does not; both are addressed with "Sie"."""
    titles = (("Mr", ("Herr", "Herrn", "Herrn")), ("Mrs", ("Frau", "Frau", "Frau")))
    return [
        Phrase(
            {"en": f"{en}/t {name}/s"} | {case: f"{de}/t {name}/s" for case, de in zip(CASES, declined, strict=True)},
            agreement=1,
            head=name,
        )
        for en, declined in titles
        for name in v.SURNAMES
    ]


def _goods(rng: Random) -> Phrase:
    kind = rng.randrange(5)
    if kind < 2:
        return counted(rng.randint(1, 12), rng.choice(v.FOODS))
    if kind < 4:
        measure, stuffs = rng.choice(list(v.MEASURES.items()))
        return measured(rng.randint(1, 9), measure, rng.choice(list(stuffs.items())))
    return measured(rng.choice((100, 150, 200, 250, 300, 400, 500)), v.GRAM, rng.choice(list(v.BY_WEIGHT.items())))


def _coloured(rng: Random, low: int, high: int) -> Phrase:
    return counted(rng.randint(low, high), rng.choice(v.CLOTHES), rng.choice(list(v.COLOURS.items())))


def _item(rng: Random) -> Phrase:
    return noun_phrase(THE, rng.choice(v.CLOTHES), rng.choice(list(v.COLOURS.items())))


def _price(low: int, high: int) -> Draw:
    """Returns what draws a price. Up to one in four is written in digits, never a round one."""

    def drawn(rng: Random) -> Phrase:
        euros = rng.randint(low, high)
        cents = rng.choice((0, 20, 40, 50, 80, 95, 99))
        in_digits = cents and rng.randrange(4) == 0
        return (price_in_digits if in_digits else price)(euros, cents)

    return drawn


def _date(rng: Random) -> Phrase:
    month = rng.choice(list(MONTHS))
    return date(rng.randint(1, MONTHS[month][1]), month)


def _clock(first_hour: int, last_hour: int, step: int = 5) -> Draw:
    return lambda rng: clock(rng.randint(first_hour, last_hour), step * rng.randrange(60 // step))


def _amount(noun: Noun, low: int, high: int, step: int = 1) -> Draw:
    return lambda rng: counted(step * rng.randint(low, high), noun)


def _room(rng: Random) -> Phrase:
    """Draws the number of a room as in a hotel: floor, then room."""
    return number(100 * rng.randint(1, 4) + rng.randint(1, 30))


def _number(low: int, high: int) -> Draw:
    return lambda rng: number(rng.randint(low, high))


def _the(nouns: list[Noun]) -> list[Phrase]:
    return [noun_phrase(THE, noun) for noun in nouns]


LEXICON: dict[str, Category] = {
    "who": [_phrase(*subject) for subject in v.SUBJECTS],
    "whom": _the(v.CONTACTS) + _titled(),
    "addressee": [_phrase(name, name) for name in v.FIRST_NAMES] + _titled(),
    "relative": [noun_phrase(owner, relative) for owner, relative in v.RELATIVES],
    "goods": _goods,
    "item": _item,
    "piece": lambda rng: _coloured(rng, 1, 1),
    "pieces": lambda rng: _coloured(rng, 2, 6),
    "line": _the(v.LINES),
    "ride": _the(v.RIDES),
    "appointment": _the(v.APPOINTMENTS),
    "outdoor": _the(v.OUTDOOR_EVENTS),
    "event": _the(v.APPOINTMENTS + v.OUTDOOR_EVENTS),
    "show": _the(v.SHOWS),
    "delivery": _the(v.DELIVERIES),
    "landmark": _the(v.LANDMARKS),
    "office": _the(v.OFFICES),
    "furniture": lambda rng: counted(rng.randint(2, 40), rng.choice(v.FURNITURE)),
    "city": [_phrase(en, de) for en, de in v.CITIES.items()],
    "weekday": [_phrase(en, de) for en, de in WEEKDAYS.items()],
    "weekdays": [_phrase(f"on {en}s", f"{de.lower()}s") for en, de in WEEKDAYS.items()],
    "evening": [_phrase(f"{en} evening", f"{de}abend") for en, de in WEEKDAYS.items()],
    "date": _date,
    "clock": _clock(1, 12),
    "early_clock": _clock(5, 7),
    "late_clock": _clock(9, 11),
    "closing_clock": _clock(4, 8, step=30),
    "opening_clock": _clock(7, 10, step=30),
    "evening_clock": _clock(6, 10),
    "full_clock": _clock(1, 12, step=60),
    "digits": lambda rng: clock_in_digits(rng.randint(6, 23), 5 * rng.randrange(12)),
    "price": _price(2, 99),
    "food_price": _price(2, 19),
    "minutes": _amount(v.MINUTE, 1, 11, step=5),
    "some_minutes": _amount(v.MINUTE, 4, 11, step=5),
    "some_hours": _amount(v.HOUR, 1, 3),
    "hours": _amount(v.HOUR, 1, 9),
    "days": _amount(v.DAY, 2, 12),
    "weeks": _amount(v.WEEK, 1, 9),
    "months": _amount(v.MONTH, 1, 11),
    "years": _amount(v.YEAR, 1, 40),
    "platform": _number(2, 24),
    "guests": _number(2, 20),
    "all_guests": _number(21, 99),
    "age": _number(21, 79),
    "room": _room,
}
