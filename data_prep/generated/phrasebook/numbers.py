"""Numerals and prices in English and German words."""

from data_prep.generated.phrasebook.grammar import Phrase, pairs

UNITS_EN = """
    zero one two three four five six seven eight nine
    ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
""".split()  # noqa: SIM905 - many words
UNITS_DE = """
    null eins zwei drei vier fünf sechs sieben acht neun
    zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn
""".split()  # noqa: SIM905 - likewise
TENS_EN = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
TENS_DE = ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
IRREGULAR_EN = pairs("one: first, two: second, three: third, five: fifth, eight: eighth, nine: ninth, twelve: twelfth")
IRREGULAR_DE = {1: "erst", 3: "dritt", 7: "siebt", 8: "acht"}


def cardinal_en(n: int) -> str:
    """Writes 0 to 999: `"three hundred and twenty-one"`."""
    if n >= 100:
        rest = f" and {cardinal_en(n % 100)}" if n % 100 else ""
        return f"{UNITS_EN[n // 100]} hundred{rest}"
    if n < 20:
        return UNITS_EN[n]
    return TENS_EN[n // 10 - 2] + (f"-{UNITS_EN[n % 10]}" if n % 10 else "")


def cardinal_de(n: int) -> str:
    """Writes 0 to 999, as when counting: `"dreihunderteinundzwanzig"`, `"hunderteins"`."""
    if n >= 100:
        hundreds = UNITS_DE[n // 100] if n >= 200 else ""
        return f"{hundreds}hundert{cardinal_de(n % 100) if n % 100 else ''}"
    if n < 20:
        return UNITS_DE[n]
    unit = "ein" if n % 10 == 1 else UNITS_DE[n % 10]
    return (f"{unit}und" if n % 10 else "") + TENS_DE[n // 10 - 2]


def ordinal_en(n: int) -> str:
    """Writes the ordinal of 1 to 99: `"twenty-first"`."""
    tens, dash, last = cardinal_en(n).rpartition("-")
    if last in IRREGULAR_EN:
        return tens + dash + IRREGULAR_EN[last]
    return tens + dash + (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")


def ordinal_de(n: int, ending: str) -> str:
    """Writes the ordinal of 1 to 99, declined: `ordinal_de(21, "en")` is `"einundzwanzigsten"`."""
    stem = IRREGULAR_DE.get(n) or cardinal_de(n) + ("t" if n < 20 else "st")
    return stem + ending


def tag(words: str, key: str) -> str:
    """Gives every word of `words` the same key."""
    return " ".join(f"{word}/{key}" for word in words.split())


def number(n: int) -> Phrase:
    """Makes a cardinal; from two upwards it never declines."""
    return Phrase({"en": tag(cardinal_en(n), "n"), "de": tag(cardinal_de(n), "n")}, head=str(n))


def price(euros: int, cents: int) -> Phrase:
    """Makes a price from two euros upwards: `twelve euros fifty`, `zwölf Euro fünfzig`."""
    tail_en, tail_de = (f" {tag(cardinal(cents), 'c')}" if cents else "" for cardinal in (cardinal_en, cardinal_de))
    head_en, head_de = (tag(cardinal(euros), "n") for cardinal in (cardinal_en, cardinal_de))
    return Phrase({"en": f"{head_en} euros/euro{tail_en}", "de": f"{head_de} Euro/euro{tail_de}"})


def price_in_digits(euros: int, cents: int) -> Phrase:
    """Makes a price in digits: `12.50 euros`, `12,50 Euro`."""
    return Phrase({"en": f"{euros}.{cents:02}/n euros/euro", "de": f"{euros},{cents:02}/n Euro/euro"})
