"""The words: one line adds a noun, a city or a person. `LEXICON` makes them the categories that the templates name."""

from random import Random

from data_prep.phrasebook.grammar import Category, Phrase
from data_prep.phrasebook.nouns import CASES, MY, OUR, THE, Noun, counted, measured, noun, noun_phrase
from data_prep.phrasebook.numbers import number, price, price_in_digits, tag
from data_prep.phrasebook.times import MONTHS, WEEKDAYS, clock, clock_in_digits, date


def nouns(*entries: str) -> list[Noun]:
    return [noun(entry) for entry in entries]


FOODS = nouns(
    "apple, apples: der Apfel, Äpfel",
    "pear, pears: die Birne, Birnen",
    "orange, oranges: die Orange, Orangen",
    "lemon, lemons: die Zitrone, Zitronen",
    "peach, peaches: der Pfirsich, Pfirsiche",
    "coconut, coconuts: die Kokosnuss, Kokosnüsse",
    "onion, onions: die Zwiebel, Zwiebeln",
    "cucumber, cucumbers: die Gurke, Gurken",
    "egg, eggs: das Ei, Eier",
    "bread roll, bread rolls: das Brötchen, Brötchen",
    "pretzel, pretzels: die Brezel, Brezeln",
)
MEASURES = {
    noun("kilo, kilos: das Kilo, Kilo"): {"potatoes": "Kartoffeln", "tomatoes": "Tomaten", "cherries": "Kirschen"},
    noun("packet, packets: die Packung, Packungen"): {"rice": "Reis", "coffee": "Kaffee", "biscuits": "Kekse"},
    noun("bottle, bottles: die Flasche, Flaschen"): {"water": "Wasser", "red wine": "Rotwein", "olive oil": "Olivenöl"},
    noun("litre, litres: der Liter, Liter"): {"milk": "Milch", "apple juice": "Apfelsaft"},
    noun("jar, jars: das Glas, Gläser"): {"honey": "Honig", "mustard": "Senf"},
    noun("slice, slices: die Scheibe, Scheiben"): {"bread": "Brot", "cheese": "Käse"},
}
GRAM = noun("gram, grams: das Gramm, Gramm")
BY_WEIGHT = {"ham": "Schinken", "butter": "Butter", "minced meat": "Hackfleisch", "mushrooms": "Pilze"}
CLOTHES = nouns(
    "coat, coats: der Mantel, Mäntel",
    "skirt, skirts: der Rock, Röcke",
    "hat, hats: der Hut, Hüte",
    "scarf, scarves: der Schal, Schals",
    "umbrella, umbrellas: der Regenschirm, Regenschirme",
    "jacket, jackets: die Jacke, Jacken",
    "cap, caps: die Mütze, Mützen",
    "bag, bags: die Tasche, Taschen",
    "shirt, shirts: das Hemd, Hemden",
    "dress, dresses: das Kleid, Kleider",
)
COLOURS = {
    "red": "rot",
    "blue": "blau",
    "green": "grün",
    "yellow": "gelb",
    "black": "schwarz",
    "white": "weiß",
    "grey": "grau",
    "brown": "braun",
}
FURNITURE = nouns(
    "chair, chairs: der Stuhl, Stühle",
    "table, tables: der Tisch, Tische",
    "armchair, armchairs: der Sessel, Sessel",
    "lamp, lamps: die Lampe, Lampen",
    "shelf, shelves: das Regal, Regale",
)
VEHICLES = nouns("train, trains: der Zug, Züge", "bus, buses: der Bus, Busse", "ferry, ferries: die Fähre, Fähren")
APPOINTMENTS = nouns(
    "meeting, meetings: die Besprechung, Besprechungen",
    "guided tour, guided tours: die Führung, Führungen",
    "exam, exams: die Prüfung, Prüfungen",
    "piano lesson, piano lessons: die Klavierstunde, Klavierstunden",
    "German course, German courses: der Deutschkurs, Deutschkurse",
    "dentist appointment, dentist appointments: der Zahnarzttermin, Zahnarzttermine",
    "job interview, job interviews: das Vorstellungsgespräch, Vorstellungsgespräche",
)
OUTDOOR_EVENTS = nouns(
    "boat trip, boat trips: die Bootsfahrt, Bootsfahrten",
    "hike, hikes: die Wanderung, Wanderungen",
    "flea market, flea markets: der Flohmarkt, Flohmärkte",
    "garden party, garden parties: das Gartenfest, Gartenfeste",
    "football match, football matches: das Fußballspiel, Fußballspiele",
)
DELIVERIES = nouns(
    "parcel, parcels: das Paket, Pakete",
    "sofa, sofas: das Sofa, Sofas",
    "letter, letters: der Brief, Briefe",
    "invoice, invoices: die Rechnung, Rechnungen",
)
LANDMARKS = nouns(
    "station, stations: der Bahnhof, Bahnhöfe",
    "church, churches: die Kirche, Kirchen",
    "cinema, cinemas: das Kino, Kinos",
)
OFFICES = nouns(
    "pharmacy, pharmacies: die Apotheke, Apotheken",
    "library, libraries: die Bibliothek, Bibliotheken",
    "museum, museums: das Museum, Museen",
    "town hall, town halls: das Rathaus, Rathäuser",
    "swimming pool, swimming pools: das Schwimmbad, Schwimmbäder",
)
CONTACTS = nouns(
    "doctor, doctors: die Ärztin, Ärztinnen",
    "hairdresser, hairdressers: die Friseurin, Friseurinnen",
    "dentist, dentists: der Zahnarzt, Zahnärzte",
    "lawyer, lawyers: der Anwalt, Anwälte",
    "vet, vets: der Tierarzt, Tierärzte",
)
RELATIVES = (
    (MY, noun("sister, sisters: die Schwester, Schwestern")),
    (MY, noun("brother, brothers: der Bruder, Brüder")),
    (MY, noun("aunt, aunts: die Tante, Tanten")),
    (OUR, noun("uncle, uncles: der Onkel, Onkel")),
    (OUR, noun("teacher, teachers: die Lehrerin, Lehrerinnen")),
)
MINUTE = noun("minute, minutes: die Minute, Minuten")
HOUR = noun("hour, hours: die Stunde, Stunden")
DAY = noun("day, days: der Tag, Tage")
WEEK = noun("week, weeks: die Woche, Wochen")
MONTH = noun("month, months: der Monat, Monate")
YEAR = noun("year, years: das Jahr, Jahre")
CITIES = {
    "Berlin": "Berlin",
    "Hamburg": "Hamburg",
    "Munich": "München",
    "Cologne": "Köln",
    "Nuremberg": "Nürnberg",
    "Leipzig": "Leipzig",
    "Vienna": "Wien",
    "Salzburg": "Salzburg",
    "Zurich": "Zürich",
    "Geneva": "Genf",
    "Brussels": "Brüssel",
    "Prague": "Prag",
    "Warsaw": "Warschau",
    "Milan": "Mailand",
}
SUBJECTS = [  # English, German, agreement
    ("I", "ich", 0),
    ("he", "er", 1),
    ("she", "sie", 1),
    ("we", "wir", 2),
    ("they", "sie", 2),
    ("Jonas", "Jonas", 1),
    ("my mother", "meine Mutter", 1),
    ("our neighbour", "unser Nachbar", 1),
    ("the children", "die Kinder", 2),
    ("my parents", "meine Eltern", 2),
]
FIRST_NAMES = ("Anna", "Lena", "Paul", "Felix")  # addressed with "du"
SURNAMES = ("Keller", "Vogel", "Brandt", "Lang")  # with "Sie"


def _word(en: str, de: str, agreement: int = 0) -> Phrase:
    """A phrase whose words correspond one to one where there are as many, and all to all elsewhere."""
    words_en, words_de = en.split(), de.split()
    if len(words_en) != len(words_de):
        return Phrase({"en": tag(en, "w"), "de": tag(de, "w")}, agreement, head=en)
    keyed_en, keyed_de = (" ".join(f"{word}/{i}" for i, word in enumerate(words)) for words in (words_en, words_de))
    return Phrase({"en": keyed_en, "de": keyed_de}, agreement, head=en)


def _titled() -> list[Phrase]:
    """Herr declines, Frau does not; both are addressed with "Sie"."""
    titles = (("Mr", ("Herr", "Herrn", "Herrn")), ("Mrs", ("Frau", "Frau", "Frau")))
    return [
        Phrase(
            {"en": f"{en}/t {name}/s"} | {case: f"{de}/t {name}/s" for case, de in zip(CASES, declined, strict=True)},
            agreement=1,
            head=name,
        )
        for en, declined in titles
        for name in SURNAMES
    ]


def _goods(rng: Random) -> Phrase:
    kind = rng.randrange(5)
    if kind < 2:
        return counted(rng.randint(1, 12), rng.choice(FOODS))
    if kind < 4:
        measure, stuffs = rng.choice(list(MEASURES.items()))
        return measured(rng.randint(1, 9), measure, rng.choice(list(stuffs.items())))
    return measured(rng.choice((100, 150, 200, 250, 300, 400, 500)), GRAM, rng.choice(list(BY_WEIGHT.items())))


def _coloured(rng: Random, low: int, high: int) -> Phrase:
    return counted(rng.randint(low, high), rng.choice(CLOTHES), rng.choice(list(COLOURS.items())))


def _item(rng: Random) -> Phrase:
    return noun_phrase(THE, rng.choice(CLOTHES), rng.choice(list(COLOURS.items())))


def _price(rng: Random) -> Phrase:
    written = price_in_digits if rng.randrange(4) == 0 else price
    return written(rng.randint(2, 99), rng.choice((0, 20, 40, 50, 80, 95, 99)) if written is price else 5 * rng.randrange(20))


def _date(rng: Random) -> Phrase:
    month = rng.choice(list(MONTHS))
    return date(rng.randint(1, MONTHS[month][1]), month)


def _clock(first_hour: int, last_hour: int, step: int = 5):
    return lambda rng: clock(rng.randint(first_hour, last_hour), step * rng.randrange(60 // step))


def _amount(noun: Noun, low: int, high: int, step: int = 1):
    return lambda rng: counted(step * rng.randint(low, high), noun)


def _number(low: int, high: int):
    return lambda rng: number(rng.randint(low, high))


def _the(nouns: list[Noun]) -> list[Phrase]:
    return [noun_phrase(THE, noun) for noun in nouns]


LEXICON: dict[str, Category] = {
    "who": [_word(*subject) for subject in SUBJECTS],
    "whom": _the(CONTACTS) + _titled(),
    "addressee": [_word(name, name) for name in FIRST_NAMES] + _titled(),
    "relative": [noun_phrase(owner, relative) for owner, relative in RELATIVES],
    "goods": _goods,
    "item": _item,
    "piece": lambda rng: _coloured(rng, 1, 1),
    "pieces": lambda rng: _coloured(rng, 2, 6),
    "vehicle": _the(VEHICLES),
    "appointment": _the(APPOINTMENTS),
    "outdoor": _the(OUTDOOR_EVENTS),
    "event": _the(APPOINTMENTS + OUTDOOR_EVENTS),
    "delivery": _the(DELIVERIES),
    "landmark": _the(LANDMARKS),
    "office": _the(OFFICES),
    "furniture": lambda rng: counted(rng.randint(2, 60), rng.choice(FURNITURE)),
    "city": [_word(en, de) for en, de in CITIES.items()],
    "weekday": [_word(en, de) for en, de in WEEKDAYS.items()],
    "weekdays": [_word(f"{en}s", f"{de.lower()}s") for en, de in WEEKDAYS.items()],
    "evening": [_word(f"{en} evening", f"{de}abend") for en, de in WEEKDAYS.items()],
    "date": _date,
    "clock": _clock(1, 12),
    "early_clock": _clock(5, 8),
    "late_clock": _clock(9, 11),
    "closing_clock": _clock(4, 8, step=15),
    "opening_clock": _clock(7, 10, step=15),
    "evening_clock": _clock(6, 10),
    "full_clock": _clock(1, 12, step=60),
    "digits": lambda rng: clock_in_digits(rng.randint(6, 23), 5 * rng.randrange(12)),
    "price": _price,
    "minutes": _amount(MINUTE, 1, 11, step=5),
    "hours": _amount(HOUR, 1, 9),
    "days": _amount(DAY, 2, 12),
    "weeks": _amount(WEEK, 1, 9),
    "months": _amount(MONTH, 1, 11),
    "years": _amount(YEAR, 1, 40),
    "platform": _number(2, 24),
    "guests": _number(2, 20),
    "all_guests": _number(21, 99),
    "age": _number(21, 79),
    "room": _number(101, 499),
}
