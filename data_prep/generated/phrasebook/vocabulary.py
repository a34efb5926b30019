"""The words. One line adds a noun, a city or a person."""

from data_prep.generated.phrasebook.nouns import MY, OUR, Noun


def nouns(*entries: str) -> list[Noun]:
    return [Noun.of(entry) for entry in entries]


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
    Noun.of("kilo, kilos: das Kilo, Kilo"): {"potatoes": "Kartoffeln", "tomatoes": "Tomaten", "cherries": "Kirschen"},
    Noun.of("packet, packets: die Packung, Packungen"): {"rice": "Reis", "coffee": "Kaffee", "biscuits": "Kekse"},
    Noun.of("bottle, bottles: die Flasche, Flaschen"): {
        "water": "Wasser",
        "red wine": "Rotwein",
        "olive oil": "Olivenöl",
    },
    Noun.of("litre, litres: der Liter, Liter"): {"milk": "Milch", "apple juice": "Apfelsaft"},
    Noun.of("jar, jars: das Glas, Gläser"): {"honey": "Honig", "mustard": "Senf"},
    Noun.of("slice, slices: die Scheibe, Scheiben"): {"bread": "Brot", "cheese": "Käse"},
}
GRAM = Noun.of("gram, grams: das Gramm, Gramm")
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
LINES = nouns(  # between cities
    "train, trains: der Zug, Züge",
    "bus, buses: der Bus, Busse",
    "coach, coaches: der Reisebus, Reisebusse",
    "regional train, regional trains: die Regionalbahn, Regionalbahnen",
)
RIDES = nouns(
    "train, trains: der Zug, Züge",
    "bus, buses: der Bus, Busse",
    "tram, trams: die Straßenbahn, Straßenbahnen",
    "taxi, taxis: das Taxi, Taxis",
)
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
SHOWS = nouns(
    "concert, concerts: das Konzert, Konzerte",
    "football match, football matches: das Fußballspiel, Fußballspiele",
    "boat trip, boat trips: die Bootsfahrt, Bootsfahrten",
    "circus, circuses: der Zirkus, Zirkusse",
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
    (MY, Noun.of("sister, sisters: die Schwester, Schwestern")),
    (MY, Noun.of("brother, brothers: der Bruder, Brüder")),
    (MY, Noun.of("aunt, aunts: die Tante, Tanten")),
    (OUR, Noun.of("uncle, uncles: der Onkel, Onkel")),
    (OUR, Noun.of("teacher, teachers: die Lehrerin, Lehrerinnen")),
)
MINUTE = Noun.of("minute, minutes: die Minute, Minuten")
HOUR = Noun.of("hour, hours: die Stunde, Stunden")
DAY = Noun.of("day, days: der Tag, Tage")
WEEK = Noun.of("week, weeks: die Woche, Wochen")
MONTH = Noun.of("month, months: der Monat, Monate")
YEAR = Noun.of("year, years: das Jahr, Jahre")
CITIES = {
    "Berlin": "Berlin",
    "Hamburg": "Hamburg",
    "Bremen": "Bremen",
    "Hanover": "Hannover",
    "Cologne": "Köln",
    "Leipzig": "Leipzig",
    "Stuttgart": "Stuttgart",
    "Nuremberg": "Nürnberg",
    "Munich": "München",
    "Salzburg": "Salzburg",
    "Vienna": "Wien",
    "Zurich": "Zürich",
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
    ("our friends", "unsere Freunde", 2),
    ("my parents", "meine Eltern", 2),
]
FIRST_NAMES = ("Anna", "Lena", "Paul", "Felix")  # addressed with "du"
SURNAMES = ("Keller", "Vogel", "Brandt", "Lang")  # with "Sie"
