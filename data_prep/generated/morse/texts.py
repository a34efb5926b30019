"""What is sent: calls, reports, abbreviations, words, groups of letters and digits."""

from random import Random
from string import ascii_uppercase, digits

from data_prep.generated.morse.sending import CODE

WORDS = """
    CQ DE TNX FER CALL UR RST NAME QTH WX HR ES RIG ANT PWR WATTS DIPOLE VERTICAL SUNNY RAIN SNOW COLD WARM TEMP AGE YRS
    HW CPY QRM QRN QSB QRP QRZ QSL QSO QRX QSY VIA BURO DIRECT DR OM GM GA GE GN GUD GLAD TO MEET YOU SKED TEST TU AGN
    PSE INFO FB VY BEST DX HPE CUAGN GL SIGS BAND KEY PADDLE THE AND HOUSE WATER SHIP RADIO NIGHT LIGHT FIELD SUMMER
    WINTER RIVER MARKET WINDOW JUMP QUICK BROWN FOX LAZY DOG OVER ZERO XYLOPHONE VALVE ZINC QUARTZ BOX MAJOR
""".split()  # noqa: SIM905 - many words
PREFIXES = """
    DL DK G M F EA I OE PA ON SM OZ LA OH SP OK HA YO UA UR W K N AA KB VE XE PY LU CE ZL VK JA BY HL VU ZS
""".split()  # noqa: SIM905 - likewise
REPORTS = ("599", "579", "559", "5NN", "73", "88", "=", "?")
_LONGEST = 14
"""Characters of a text, blanks included, if it has more than one part."""


def draw_text(rng: Random) -> str:
    """Draws a text of one to four parts."""
    parts = [_part(rng)]
    for _ in range(rng.randint(0, 3)):
        part = _part(rng)
        if sum(map(len, parts)) + len(parts) + len(part) <= _LONGEST:
            parts.append(part)
    return " ".join(parts)


def draw_short(rng: Random) -> str:
    """Draws one character or, a third of the time, two, all equally often."""
    return "".join(rng.choices([*CODE], k=rng.choice((1, 1, 2))))


def call(rng: Random) -> str:
    """Draws an amateur's call sign: `DL7ABC`, now and then portable, `DL7ABC/P`."""
    suffix = "".join(rng.choices(ascii_uppercase, k=rng.randint(1, 3)))
    return rng.choice(PREFIXES) + rng.choice(digits) + suffix + ("/P" if rng.random() < 0.1 else "")


def _part(rng: Random) -> str:
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(WORDS)
    if kind < 0.65:
        return call(rng)
    if kind < 0.75:
        return rng.choice(REPORTS)
    return "".join(rng.choices(ascii_uppercase if kind < 0.9 else digits, k=rng.randint(3, 5)))
