"""The categories of facts that stories of any topic may name: names, and what `lexicon.txt` lists. Amounts, people,
results and the like are drawn by functions."""

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

from data_prep.generated.bulletin.grammar import Category, Fact, read_categories, sections

Draw = Callable[[Random], Fact]

FOLDER = Path(__file__).parent
NAMES = {key: re.findall(r"[\w/]+", text) for key, text in sections(FOLDER / "names.txt").items()}
"""Names by their kind, and by `unseen` where dev and test alone have them."""
UNSEEN = frozenset(
    word for (_, splits), names in NAMES.items() if splits == "unseen" for name in names for word in name.split("/")
)


def names(kind: str) -> list[str]:
    """Returns all names of a kind, the shared ones first."""
    return NAMES[kind, ""] + NAMES.get((kind, "unseen"), [])


CITIES = names("city")
FIRMS = names("firm")
TEAMS = names("team")
SURNAMES = names("surname")
WOMEN = names("woman")
MEN = names("man")
COUNTRIES = [dict(zip(("text", "adjective"), country.split("/"), strict=True)) for country in names("country")]
SECTORS = (
    "Airways, Bank, Chemicals, Electronics, Energy, Foods, Insurance, Logistics, "
    "Media, Mining, Motors, Pharma, Software, Steel, Stores, Telecom"
)
NUMERALS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")


def _few(rng: Random) -> Fact:
    """Draws a small number, which texts write out and headlines have in digits."""
    number = rng.randint(2, 9)
    return {"text": NUMERALS[number - 2], "digits": str(number)}


def _percent(number: int) -> Fact:
    return {"text": f"{number} percent", "short": f"{number}%"}


def _money(millions: object) -> Fact:
    return {"text": f"${millions} million", "short": f"${millions}m"}


def _person(rng: Random) -> Fact:
    """Draws a woman or a man, with pronouns."""
    woman = rng.randrange(2)
    last = rng.choice(SURNAMES)
    he, his, him = ("she", "her", "her") if woman else ("he", "his", "him")
    full = f"{rng.choice(WOMEN if woman else MEN)} {last}"
    return {"text": full, "short": last, "he": he, "his": his, "him": him}


def _aged(nouns: str) -> Draw:
    """Returns what draws someone with an age; a headline has "Hiker, 34," for "a 34-year-old hiker"."""
    choices = nouns.split(", ")

    def drawn(rng: Random) -> Fact:
        noun = rng.choice(choices)
        age = str(rng.randint(18, 79))
        return {"text": f"{age}-year-old {noun}", "noun": noun, "age": age}

    return drawn


def _company(sectors: str) -> Draw:
    choices = sectors.split(", ")

    def drawn(rng: Random) -> Fact:
        firm = rng.choice(FIRMS)
        return {"text": f"{firm} {rng.choice(choices)}", "short": firm}

    return drawn


def _team(rng: Random) -> Fact:
    name = rng.choice(TEAMS)
    return {"text": f"{rng.choice(CITIES)} {name}", "short": name}


def _win(rng: Random) -> Fact:
    """Draws a result of a game; the headline's verb says how clear it was."""
    lost = rng.randint(0, 3)
    margin = rng.randint(1, 5)
    short = {1: "edge", 2: "beat", 3: "beat"}.get(margin, "thrash")
    text = rng.choice(("beat", "defeated", "overcame"))
    return {"text": text, "short": short, "score": f"{lost + margin}-{lost}"}


def _final(rng: Random) -> Fact:
    """Draws a final between two women or two men."""
    winner = _person(rng)
    loser = _person(rng)
    while winner["he"] != loser["he"] or winner["short"] == loser["short"]:
        loser = _person(rng)
    return {"text": winner["text"], "short": winner["short"], "other": loser["text"], "loser": loser["short"]}


GAINS = (
    ("lower costs", "cost cuts"),
    ("the success of a new product", "new product"),
    ("the sale of a subsidiary", "unit sale"),
)
LOSSES = (
    ("a strike of several weeks", "strike"),
    ("higher costs", "high costs"),
    ("the loss of a lawsuit", "lost lawsuit"),
)


def _change(rng: Random) -> Fact:
    """Draws a rise or a fall of a profit; the headline's verb says how large it is."""
    percent = rng.randint(3, 89)
    verb = rng.randrange(3)
    if rng.randrange(2):
        past, done = (("rose", "risen"), ("grew", "grown"), ("increased", "increased"))[verb]
        short = "soars" if percent >= 40 else "rises"
        why, reason = rng.choice(GAINS)
    else:
        past, done = (("fell", "fallen"), ("dropped", "dropped"), ("decreased", "decreased"))[verb]
        short = "plunges" if percent >= 40 else "falls"
        why, reason = rng.choice(LOSSES)
    amounts = {"long": f"{percent} percent", "percent": f"{percent}%"}
    return {"text": done, "past": past, "short": short, "why": why, "reason": reason} | amounts


DRAWN: dict[str, Category] = {
    "few": _few,
    "dozens": lambda rng: {"text": str(rng.randint(11, 68))},
    "hundreds": lambda rng: {"text": str(10 * rng.randint(11, 96))},
    "thousands": lambda rng: {"text": f"{500 * rng.randint(4, 90):,}"},
    "percent": lambda rng: _percent(rng.randint(2, 39)),
    "majority": lambda rng: _percent(rng.randint(51, 69)),
    "money": lambda rng: _money(
        f"{rng.randint(1, 9)}.{rng.randint(1, 9)}" if rng.randrange(2) else rng.randint(10, 99)
    ),
    "fortune": lambda rng: _money(10 * rng.randint(10, 95)),
    "year": lambda rng: {"text": str(rng.randint(2027, 2036))},
    "past_year": lambda rng: {"text": str(rng.randint(1996, 2021))},
    "age": lambda rng: {"text": str(rng.randint(61, 97))},
    "heat": lambda rng: {"text": f"{rng.randint(31, 44)}.{rng.randint(1, 9)}"},
    "highway": lambda rng: {"text": f"Highway {rng.randint(2, 98)}"},
    "person": _person,
    "driver": _aged("driver, passenger, farmer, teacher, nurse, student, soldier, plumber, mechanic, musician"),
    "rider": _aged("cyclist, motorcyclist, pedestrian, jogger, postman, dog walker"),
    "walker": _aged("hiker, climber, skier, camper, photographer, geologist, mushroom picker"),
    "patient": _aged("man, woman, farmer, teacher, bus driver, pianist, priest, baker, carpenter, gardener"),
    "city": [{"text": city} for city in CITIES],
    "region": [{"text": region} for region in names("region")],
    "country": COUNTRIES,
    "company": _company(SECTORS),
    "retailer": _company("Stores"),
    "utility": _company("Energy"),
    "pharma": _company("Pharma"),
    "manufacturer": _company("Chemicals, Electronics, Foods, Motors, Pharma, Steel"),
    "airline": _company("Airways"),
    "team": _team,
    "win": _win,
    "final": _final,
    "change": _change,
}
LEXICON: dict[str, Category] = DRAWN | read_categories(FOLDER / "lexicon.txt")
