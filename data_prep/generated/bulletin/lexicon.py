"""The categories of facts that stories of more than one topic name: times, amounts, people, places."""

from collections.abc import Callable
from random import Random

from data_prep.generated.bulletin.grammar import Category, Fact, lines, things
from data_prep.generated.bulletin.names import names

Draw = Callable[[Random], Fact]

CITIES, FIRMS, TEAMS = names("city"), names("firm"), names("team")
SURNAMES, WOMEN, MEN = names("surname"), names("woman"), names("man")
COUNTRIES = [dict(zip(("text", "adjective"), country.split("/"), strict=True)) for country in names("country")]
SECTORS = (
    *("Airways", "Bank", "Chemicals", "Electronics", "Energy", "Foods", "Insurance", "Logistics"),
    *("Media", "Mining", "Motors", "Pharma", "Software", "Steel", "Stores", "Telecom"),
)
NUMERALS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")


def _few(rng: Random) -> Fact:
    """Written out in texts, in digits in headlines."""
    number = rng.randint(2, 9)
    return {"text": NUMERALS[number - 2], "digits": str(number)}


def _number(low: int, high: int, step: int = 1) -> Draw:
    return lambda rng: {"text": f"{step * rng.randint(low, high):,}"}


def _percent(low: int, high: int) -> Draw:
    def drawn(rng: Random) -> Fact:
        number = rng.randint(low, high)
        return {"text": f"{number} percent", "short": f"{number}%"}

    return drawn


def _money(rng: Random) -> Fact:
    millions = f"{rng.randint(1, 9)}.{rng.randint(1, 9)}" if rng.randrange(2) else str(rng.randint(10, 99))
    return {"text": f"${millions} million", "short": f"${millions}m"}


def _fortune(rng: Random) -> Fact:
    millions = 10 * rng.randint(10, 95)
    return {"text": f"${millions} million", "short": f"${millions}m"}


def person(rng: Random) -> Fact:
    """A woman or a man, with pronouns."""
    woman, last = rng.randrange(2), rng.choice(SURNAMES)
    he, his, him = ("she", "her", "her") if woman else ("he", "his", "him")
    full = f"{rng.choice(WOMEN if woman else MEN)} {last}"
    return {"text": full, "short": last, "he": he, "his": his, "him": him}


def _aged(nouns: str) -> Draw:
    """Someone with an age; a headline has "Hiker, 34," for "a 34-year-old hiker"."""
    choices = nouns.split(", ")

    def drawn(rng: Random) -> Fact:
        noun, age = rng.choice(choices), str(rng.randint(18, 79))
        return {"text": f"{age}-year-old {noun}", "noun": noun, "age": age}

    return drawn


def _company(*sectors: str) -> Draw:
    def drawn(rng: Random) -> Fact:
        firm = rng.choice(FIRMS)
        return {"text": f"{firm} {rng.choice(sectors)}", "short": firm}

    return drawn


def _team(rng: Random) -> Fact:
    name = rng.choice(TEAMS)
    return {"text": f"{rng.choice(CITIES)} {name}", "short": name}


LEXICON: dict[str, Category] = {
    "day": things("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday"),
    "month": things("""
January, February, March, April, May, June, July, August, September, October, November, December
"""),
    "ordinal": things("second, third, fourth, fifth, sixth"),
    "when": lines("""
on {day}
on {day} (morning|afternoon|evening|night)
early on {day}
late on {day}
"""),
    "few": _few,
    "dozens": _number(11, 68),
    "hundreds": _number(11, 96, 10),
    "thousands": _number(4, 90, 500),
    "percent": _percent(2, 39),
    "majority": _percent(51, 69),
    "money": _money,
    "fortune": _fortune,
    "year": lambda rng: {"text": str(rng.randint(2027, 2036))},
    "past_year": lambda rng: {"text": str(rng.randint(1996, 2021))},
    "person": person,
    "driver": _aged("driver, passenger, farmer, teacher, nurse, student, soldier, plumber, mechanic, musician"),
    "rider": _aged("cyclist, motorcyclist, pedestrian, jogger, postman, dog walker"),
    "walker": _aged("hiker, climber, skier, camper, photographer, geologist, mushroom picker"),
    "patient": _aged("man, woman, farmer, teacher, bus driver, pianist, priest, baker, carpenter, gardener"),
    "city": [{"text": city} for city in CITIES],
    "coast": things("""
Brittany, Calabria, Catalonia, Cornwall, Dalmatia, Flanders, Galicia, Hokkaido, Jutland, Kerala, Normandy, Oregon,
Patagonia, Provence, Sicily, Tasmania, Sardinia
"""),
    "region": [{"text": region} for region in names("region")],
    "country": COUNTRIES,
    "company": _company(*SECTORS),
    "retailer": _company("Stores"),
    "utility": _company("Energy"),
    "pharma": _company("Pharma"),
    "manufacturer": _company("Chemicals", "Electronics", "Foods", "Motors", "Pharma", "Steel"),
    "airline": _company("Airways"),
    "team": _team,
    "police_said": lines("""
police said
police said on {day}
a police spokesman said
according to police
according to a police report
the chief of police, {person3}, said
"""),
    "science_said": lines("""
scientists said
researchers said on {day}
according to a study
the University of {city2} said
according to {person3} of the University of {city2}
"""),
    "highway": lambda rng: {"text": f"Highway {rng.randint(2, 98)}"},
    "building": things("""
warehouse, hotel, nursing home, paper factory, furniture store, apartment block, supermarket, sports hall, bakery, car
repair shop, shopping center, sawmill
"""),
    "post": things("""
finance minister, health minister, defense minister, interior minister, transport minister, education minister,
foreign minister
"""),
}
