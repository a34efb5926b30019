"""The words and numbers that the templates name. First come the words of several categories, then what draws a phrase,
and then the categories by name. A noun is a dictionary entry, with a semicolon between two."""

from collections.abc import Callable
from random import Random

from data_prep.generated.phrasebook.grammar import Category, Phrase, pairs
from data_prep.generated.phrasebook.nouns import CASES, MY, OUR, THE, Noun, counted, measured, noun_phrase
from data_prep.generated.phrasebook.numbers import number, price, price_in_digits, tag
from data_prep.generated.phrasebook.times import DAYS, WEEKDAYS, clock, clock_in_digits, date

Draw = Callable[[Random], Phrase]


def _nouns(entries: str) -> list[Noun]:
    return [Noun.of(" ".join(entry.split())) for entry in entries.split(";")]


def _the(entries: str) -> list[Phrase]:
    return [noun_phrase(THE, noun) for noun in _nouns(entries)]


FOODS = _nouns("""
    apple, apples: der Apfel, Äpfel; pear, pears: die Birne, Birnen; orange, oranges: die Orange, Orangen;
    lemon, lemons: die Zitrone, Zitronen; peach, peaches: der Pfirsich, Pfirsiche;
    coconut, coconuts: die Kokosnuss, Kokosnüsse; onion, onions: die Zwiebel, Zwiebeln;
    cucumber, cucumbers: die Gurke, Gurken; egg, eggs: das Ei, Eier; bread roll, bread rolls: das Brötchen, Brötchen;
    pretzel, pretzels: die Brezel, Brezeln
""")
MEASURES = [
    (Noun.of("kilo, kilos: das Kilo, Kilo"), pairs("potatoes: Kartoffeln, tomatoes: Tomaten, cherries: Kirschen")),
    (Noun.of("packet, packets: die Packung, Packungen"), pairs("rice: Reis, coffee: Kaffee, biscuits: Kekse")),
    (Noun.of("bottle, bottles: die Flasche, Flaschen"), pairs("water: Wasser, red wine: Rotwein, olive oil: Olivenöl")),
    (Noun.of("litre, litres: der Liter, Liter"), pairs("milk: Milch, apple juice: Apfelsaft")),
    (Noun.of("jar, jars: das Glas, Gläser"), pairs("honey: Honig, mustard: Senf")),
    (Noun.of("slice, slices: die Scheibe, Scheiben"), pairs("bread: Brot, cheese: Käse")),
]
GRAM = Noun.of("gram, grams: das Gramm, Gramm")
BY_WEIGHT = pairs("ham: Schinken, butter: Butter, minced meat: Hackfleisch, mushrooms: Pilze")
CLOTHES = _nouns("""
    coat, coats: der Mantel, Mäntel; skirt, skirts: der Rock, Röcke; hat, hats: der Hut, Hüte;
    scarf, scarves: der Schal, Schals; umbrella, umbrellas: der Regenschirm, Regenschirme;
    jacket, jackets: die Jacke, Jacken; cap, caps: die Mütze, Mützen; bag, bags: die Tasche, Taschen;
    shirt, shirts: das Hemd, Hemden; dress, dresses: das Kleid, Kleider
""")
COLOURS = pairs(
    "red: rot, blue: blau, green: grün, yellow: gelb, black: schwarz, white: weiß, grey: grau, brown: braun"
)
FURNITURE = _nouns("""
    chair, chairs: der Stuhl, Stühle; table, tables: der Tisch, Tische; armchair, armchairs: der Sessel, Sessel;
    lamp, lamps: die Lampe, Lampen; shelf, shelves: das Regal, Regale
""")
APPOINTMENTS = """
    meeting, meetings: die Besprechung, Besprechungen; guided tour, guided tours: die Führung, Führungen;
    exam, exams: die Prüfung, Prüfungen; piano lesson, piano lessons: die Klavierstunde, Klavierstunden;
    German course, German courses: der Deutschkurs, Deutschkurse;
    dentist appointment, dentist appointments: der Zahnarzttermin, Zahnarzttermine;
    job interview, job interviews: das Vorstellungsgespräch, Vorstellungsgespräche
"""
OUTDOOR_EVENTS = """
    boat trip, boat trips: die Bootsfahrt, Bootsfahrten; hike, hikes: die Wanderung, Wanderungen;
    flea market, flea markets: der Flohmarkt, Flohmärkte; garden party, garden parties: das Gartenfest, Gartenfeste;
    football match, football matches: das Fußballspiel, Fußballspiele
"""
RELATIVES = [
    (MY, "sister, sisters: die Schwester, Schwestern; brother, brothers: der Bruder, Brüder"),
    (MY, "aunt, aunts: die Tante, Tanten"),
    (OUR, "uncle, uncles: der Onkel, Onkel; teacher, teachers: die Lehrerin, Lehrerinnen"),
]
CITIES = pairs("""
    Berlin: Berlin, Hamburg: Hamburg, Bremen: Bremen, Hanover: Hannover, Cologne: Köln, Leipzig: Leipzig,
    Stuttgart: Stuttgart, Nuremberg: Nürnberg, Munich: München, Salzburg: Salzburg, Vienna: Wien, Zurich: Zürich
""")
SUBJECTS = pairs("""
    I: ich, he: er, she: sie, we: wir, they: sie, Jonas: Jonas, my mother: meine Mutter,
    our neighbour: unser Nachbar, our friends: unsere Freunde, my parents: meine Eltern
""")
AGREEMENTS = (0, 1, 1, 2, 2, 1, 1, 1, 2, 2)
"""Those of `SUBJECTS`, see `Phrase`."""
FIRST_NAMES = ("Anna", "Lena", "Paul", "Felix")  # addressed with "du"
SURNAMES = ("Keller", "Vogel", "Brandt", "Lang")  # with "Sie"


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
    phrases = []
    for en, declined in (("Mr", ("Herr", "Herrn", "Herrn")), ("Mrs", ("Frau", "Frau", "Frau"))):
        for name in SURNAMES:
            forms = {case: f"{de}/t {name}/s" for case, de in zip(CASES, declined, strict=True)}
            phrases.append(Phrase({"en": f"{en}/t {name}/s"} | forms, agreement=1, head=name))
    return phrases


def _goods(rng: Random) -> Phrase:
    kind = rng.randrange(5)
    if kind < 2:
        return counted(rng.randint(1, 12), rng.choice(FOODS))
    if kind < 4:
        measure, stuffs = rng.choice(MEASURES)
        return measured(rng.randint(1, 9), measure, rng.choice([*stuffs.items()]))
    return measured(rng.choice((100, 150, 200, 250, 300, 400, 500)), GRAM, rng.choice([*BY_WEIGHT.items()]))


def _coloured(rng: Random, low: int, high: int) -> Phrase:
    return counted(rng.randint(low, high), rng.choice(CLOTHES), rng.choice([*COLOURS.items()]))


def _price(low: int, high: int) -> Draw:
    """Returns what draws a price. Up to one in four is written in digits, never a round one."""

    def drawn(rng: Random) -> Phrase:
        euros = rng.randint(low, high)
        cents = rng.choice((0, 20, 40, 50, 80, 95, 99))
        in_digits = cents and rng.randrange(4) == 0
        return (price_in_digits if in_digits else price)(euros, cents)

    return drawn


def _date(rng: Random) -> Phrase:
    month = rng.choice([*DAYS])
    return date(rng.randint(1, DAYS[month]), month)


def _clock(first_hour: int, last_hour: int, step: int = 5) -> Draw:
    return lambda rng: clock(rng.randint(first_hour, last_hour), step * rng.randrange(60 // step))


def _amount(entry: str, low: int, high: int, step: int = 1) -> Draw:
    noun = Noun.of(entry)
    return lambda rng: counted(step * rng.randint(low, high), noun)


def _number(low: int, high: int) -> Draw:
    return lambda rng: number(rng.randint(low, high))


MINUTE = "minute, minutes: die Minute, Minuten"
HOUR = "hour, hours: die Stunde, Stunden"
LEXICON: dict[str, Category] = {
    "who": [_phrase(en, de, agreement) for (en, de), agreement in zip(SUBJECTS.items(), AGREEMENTS, strict=True)],
    "whom": _the("""
        doctor, doctors: die Ärztin, Ärztinnen; hairdresser, hairdressers: die Friseurin, Friseurinnen;
        dentist, dentists: der Zahnarzt, Zahnärzte; lawyer, lawyers: der Anwalt, Anwälte;
        vet, vets: der Tierarzt, Tierärzte
    """)
    + _titled(),
    "addressee": [_phrase(name, name) for name in FIRST_NAMES] + _titled(),
    "relative": [noun_phrase(owner, noun) for owner, entries in RELATIVES for noun in _nouns(entries)],
    "goods": _goods,
    "item": lambda rng: noun_phrase(THE, rng.choice(CLOTHES), rng.choice([*COLOURS.items()])),
    "piece": lambda rng: _coloured(rng, 1, 1),
    "pieces": lambda rng: _coloured(rng, 2, 6),
    "line": _the("""
        train, trains: der Zug, Züge; bus, buses: der Bus, Busse; coach, coaches: der Reisebus, Reisebusse;
        regional train, regional trains: die Regionalbahn, Regionalbahnen
    """),
    "ride": _the("""
        train, trains: der Zug, Züge; bus, buses: der Bus, Busse; tram, trams: die Straßenbahn, Straßenbahnen;
        taxi, taxis: das Taxi, Taxis
    """),
    "appointment": _the(APPOINTMENTS),
    "outdoor": _the(OUTDOOR_EVENTS),
    "event": _the(f"{APPOINTMENTS};{OUTDOOR_EVENTS}"),
    "show": _the("""
        concert, concerts: das Konzert, Konzerte; football match, football matches: das Fußballspiel, Fußballspiele;
        boat trip, boat trips: die Bootsfahrt, Bootsfahrten; circus, circuses: der Zirkus, Zirkusse
    """),
    "delivery": _the("""
        parcel, parcels: das Paket, Pakete; sofa, sofas: das Sofa, Sofas; letter, letters: der Brief, Briefe;
        invoice, invoices: die Rechnung, Rechnungen
    """),
    "landmark": _the("""
        station, stations: der Bahnhof, Bahnhöfe; church, churches: die Kirche, Kirchen;
        cinema, cinemas: das Kino, Kinos
    """),
    "office": _the("""
        pharmacy, pharmacies: die Apotheke, Apotheken; library, libraries: die Bibliothek, Bibliotheken;
        museum, museums: das Museum, Museen; town hall, town halls: das Rathaus, Rathäuser;
        swimming pool, swimming pools: das Schwimmbad, Schwimmbäder
    """),
    "furniture": lambda rng: counted(rng.randint(2, 40), rng.choice(FURNITURE)),
    "city": [_phrase(en, de) for en, de in CITIES.items()],
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
    "minutes": _amount(MINUTE, 1, 11, step=5),
    "some_minutes": _amount(MINUTE, 4, 11, step=5),
    "some_hours": _amount(HOUR, 1, 3),
    "hours": _amount(HOUR, 1, 9),
    "days": _amount("day, days: der Tag, Tage", 2, 12),
    "weeks": _amount("week, weeks: die Woche, Wochen", 1, 9),
    "months": _amount("month, months: der Monat, Monate", 1, 11),
    "years": _amount("year, years: das Jahr, Jahre", 1, 40),
    "platform": _number(2, 24),
    "guests": _number(2, 20),
    "all_guests": _number(21, 99),
    "age": _number(21, 79),
    "room": lambda rng: number(100 * rng.randint(1, 4) + rng.randint(1, 30)),  # as in a hotel: floor, then room
}
