"""Clock times and dates in spoken English and German."""

from data_prep.generated.phrasebook.grammar import Phrase, pairs
from data_prep.generated.phrasebook.numbers import cardinal_de, cardinal_en, ordinal_de, ordinal_en

WEEKDAYS = pairs("""
    Monday: Montag, Tuesday: Dienstag, Wednesday: Mittwoch, Thursday: Donnerstag, Friday: Freitag, Saturday: Samstag,
    Sunday: Sonntag
""")
MONTHS = pairs("""
    January: Januar, February: Februar, March: März, April: April, May: Mai, June: Juni, July: Juli, August: August,
    September: September, October: Oktober, November: November, December: Dezember
""")
DAYS = dict(zip(MONTHS, (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))
"""How many days each month of a common year has."""

# The words before the hour, by minute. At half past, English names the hour that has begun and German the one to
# come, "halb acht"; German tells 7:25 and 7:35 from that half, too.
MINUTES = {
    5: ("five/m past/p", "fünf/m nach/p"),
    10: ("ten/m past/p", "zehn/m nach/p"),
    15: ("a quarter/m past/p", "Viertel/m nach/p"),
    20: ("twenty/m past/p", "zwanzig/m nach/p"),
    25: ("twenty-five/m past/m", "fünf/m vor/m halb/m"),
    30: ("half/m past/m", "halb/m"),
    35: ("twenty-five/m to/m", "fünf/m nach/m halb/m"),
    40: ("twenty/m to/p", "zwanzig/m vor/p"),
    45: ("a quarter/m to/p", "Viertel/m vor/p"),
    50: ("ten/m to/p", "zehn/m vor/p"),
    55: ("five/m to/p", "fünf/m vor/p"),
}


def clock(hour: int, minute: int) -> Phrase:
    """Makes a time on the twelve-hour clock: hour 1 to 12, minute a multiple of five."""
    next_hour = hour % 12 + 1
    if minute == 0:
        full_hour = "ein" if hour == 1 else cardinal_de(hour)
        return Phrase({"en": f"{cardinal_en(hour)}/h o'clock/o", "de": f"{full_hour}/h Uhr/o"})
    minute_en, minute_de = MINUTES[minute]
    hour_en = cardinal_en(hour if minute <= 30 else next_hour)
    hour_de = cardinal_de(hour if minute <= 20 else next_hour)
    return Phrase({"en": f"{minute_en} {hour_en}/h", "de": f"{minute_de} {hour_de}/h"})


def clock_in_digits(hour: int, minute: int) -> Phrase:
    """Makes a time of a timetable: `15:40`, `15.40 Uhr`."""
    return Phrase({"en": f"{hour}:{minute:02}/t", "de": f"{hour}.{minute:02}/t Uhr/t"})


def date(day: int, month: str) -> Phrase:
    """Makes a date without the article: `twenty-first of March`, `einundzwanzigsten März`; nominative `einundzwanzigste
    März`."""
    forms = {"en": f"{ordinal_en(day)}/d of {month}/m"}
    for form, ending in (("de", "en"), ("nom", "e")):
        forms[form] = f"{ordinal_de(day, ending)}/d {MONTHS[month]}/m"
    return Phrase(forms, head=f"{day} {month}")
