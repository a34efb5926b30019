"""German noun phrases: articles and adjectives that agree with their noun in gender, number and case."""

from typing import NamedTuple

from data_prep.generated.phrasebook.grammar import Phrase
from data_prep.generated.phrasebook.numbers import cardinal_de, cardinal_en, tag

CASES = ("nom", "acc", "dat")
GENDERS = {"der": "m", "die": "f", "das": "n"}
PLURAL = "p"  # declines as a fourth gender

Endings = dict[str, tuple[str, str, str]]  # by gender, then in the order of CASES
DEFINITE: Endings = {
    "m": ("der", "den", "dem"),
    "f": ("die", "die", "der"),
    "n": ("das", "das", "dem"),
    "p": ("die", "die", "den"),
}
INDEFINITE: Endings = {"m": ("", "en", "em"), "f": ("e", "e", "er"), "n": ("", "", "em"), "p": ("e", "e", "en")}
WEAK: Endings = {"m": ("e", "en", "en"), "f": ("e", "e", "en"), "n": ("e", "e", "en"), "p": ("en", "en", "en")}
MIXED: Endings = {"m": ("er", "en", "en"), "f": ("e", "e", "en"), "n": ("es", "es", "en"), "p": ("en", "en", "en")}
STRONG_PLURAL: Endings = {"p": ("e", "e", "en")}


class Noun(NamedTuple):
    """A countable noun in both languages, with the gender that its German singular has."""

    en: str
    en_plural: str
    gender: str
    de: str
    de_plural: str

    @classmethod
    def of(cls, entry: str) -> "Noun":
        """Parses a dictionary entry, `"apple, apples: der Apfel, Äpfel"`."""
        en, de = (side.split(", ") for side in entry.split(": "))
        article, singular_de = de[0].split()
        return cls(en[0], en[1], GENDERS[article], singular_de, de[1])


class Determiner(NamedTuple):
    """An article, possessive or numeral, and the endings of the adjectives after it."""

    en: str
    de: Endings
    adjective: Endings


def _like_ein(en: str, stem: str) -> Determiner:
    declined = {gender: (stem + a, stem + b, stem + c) for gender, (a, b, c) in INDEFINITE.items()}
    return Determiner(en, declined, MIXED)


THE = Determiner("the", DEFINITE, WEAK)
A = _like_ein("a", "ein")
MY = _like_ein("my", "mein")
OUR = _like_ein("our", "unser")


def noun_phrase(
    determiner: Determiner, noun: Noun, adjective: tuple[str, str] | None = None, plural: bool = False
) -> Phrase:
    """Makes `the red coat`, `der rote Mantel`, in every case. `adjective`: the English word and the German stem."""
    gender = PLURAL if plural else noun.gender
    adjective_en, stem = adjective or ("", "")
    noun_en = noun.en_plural if plural else noun.en
    rest_en = f"{tag(adjective_en, 'adj')} {tag(noun_en, 'noun')}".strip()
    article_en = "an" if determiner is A and (rest_en[0] in "aeiou" or noun_en == "hour") else determiner.en
    forms = {"en": f"{tag(article_en, 'det')} {rest_en}"}
    forms["gen"] = f"{forms['en'].removesuffix('/noun')}'s/noun"
    for case, article, ending in zip(CASES, determiner.de[gender], determiner.adjective[gender], strict=True):
        noun_de = _dative_plural(noun.de_plural) if plural and case == "dat" else noun.de_plural if plural else noun.de
        middle = f" {stem}{ending}/adj" if stem else ""
        forms[case] = f"{article}/det{middle} {noun_de}/noun"
    return Phrase(forms, agreement=int(plural), head=noun.en)


def _dative_plural(plural: str) -> str:
    return f"{plural}n" if plural.endswith(("e", "el", "er")) else plural


def counted(n: int, noun: Noun, adjective: tuple[str, str] | None = None) -> Phrase:
    """Makes `n` of a thing, one with an article: `an apple`, `ein Apfel`; `two apples`, `zwei Äpfel`."""
    if n == 1:
        return noun_phrase(A, noun, adjective)
    numeral = cardinal_de(n)
    determiner = Determiner(cardinal_en(n), {PLURAL: (numeral, numeral, numeral)}, STRONG_PLURAL)
    return noun_phrase(determiner, noun, adjective, plural=True)


def measured(n: int, measure: Noun, stuff: tuple[str, str]) -> Phrase:
    """Makes an amount: `two bottles of water`, `zwei Flaschen Wasser`. `stuff`: its English and its German name."""
    amount = counted(n, measure)
    stuff_en, stuff_de = stuff
    forms = {case: f"{amount.forms[case]} {stuff_de}/stuff" for case in CASES}
    return Phrase({"en": f"{amount.forms['en']} of {tag(stuff_en, 'stuff')}"} | forms, amount.agreement, head=stuff_en)
