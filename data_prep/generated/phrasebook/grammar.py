"""A synchronous grammar: one derivation writes both languages, and remembers which word came from which.

Notation, everywhere in this package: a phrase is a string of words, each with an optional key, `train/2`. An English
and a German word of one phrase are linked when they carry the same key; a word without a key has no counterpart. The
mark that ends a sentence is linked to the other by itself.
A rule may also hold slots and alternatives:

    {city}        a phrase of the category `city`; `{city1}` and `{city2}` are two phrases that differ in their heads
    {goods.acc}   its form `acc` (the accusative); without a name, its form `en` or `de`
    {*who}        the phrase that the alternatives of this rule agree with (marked in the English)
    have|has|have a word that agrees: the alternatives in the order of `Phrase.agreement`; an empty one is no word

After Aho and Ullman 1969, "Syntax directed translations and the pushdown assembler", and Chiang 2007, "Hierarchical
phrase-based translation", section 2.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import NamedTuple

SLOT = re.compile(r"\{(?P<star>\*?)(?P<name>(?P<category>[a-z_]+)\d?)(?:\.(?P<form>[a-z]+))?\}")
END = re.compile(r"[.?!]")


@dataclass(frozen=True)
class Phrase:
    """One meaning in both languages.

    `forms` maps a form's name to keyed words: `en` and `de`, and where a phrase declines, `nom`, `acc`, `dat` in place
    of `de`, and `gen` for the English genitive. `agreement` chooses among the alternatives of a rule. For subjects 0 is
    "I", 1 is "she", 2 is "we"; for things 0 is singular, 1 is plural. For people addressed 0 is "du", 1 is "Sie".
    No two slots of a rule get the same `head`, where they have one: "two apples and an egg", not "and an apple".
    """

    forms: Mapping[str, str]
    agreement: int = 0
    head: str = ""

    def form(self, name: str, language: str) -> str:
        """Returns the form called `name`, or the one form of `language` where the phrase does not decline."""
        return self.forms[name if name in self.forms else language]


class Rule(NamedTuple):
    """A phrase in both languages, with slots and alternatives."""

    en: str
    de: str


Category = Sequence[Phrase | Rule] | Callable[[Random], Phrase]


@dataclass(frozen=True)
class Grammar:
    """Categories by name: each a list of phrases and rules, all equally likely, or a function that draws one."""

    categories: Mapping[str, Category] = field(repr=False)

    def draw(self, category: str, rng: Random) -> Phrase:
        """Draws a phrase of `category`."""
        source = self.categories[category]
        drawn = source(rng) if callable(source) else rng.choice(source)
        return self._derive(drawn, rng) if isinstance(drawn, Rule) else drawn

    def _derive(self, rule: Rule, rng: Random) -> Phrase:
        fills: dict[str, Phrase] = {}
        agreement = 0
        for slot in _parse(rule.en):
            if isinstance(slot, _Slot):
                phrase = self.draw(slot.category, rng)
                while phrase.head and phrase.head in (other.head for other in fills.values()):
                    phrase = self.draw(slot.category, rng)
                fills[slot.name] = phrase
                agreement = phrase.agreement if slot.governs else agreement
        return Phrase({"en": _fill(rule.en, "en", fills, agreement), "de": _fill(rule.de, "de", fills, agreement)})


def read_rules(text: str) -> dict[str, Sequence[Rule]]:
    """Parses the rules of each category, `English = German` under its name, `[city]`; the German may have a line of its
    own."""
    _, *parts = re.split(r"\[(\w+)\]\n", text.replace("\n= ", " = "))
    return {
        name: [Rule(*line.split(" = ")) for line in lines.splitlines() if line]
        for name, lines in zip(parts[::2], parts[1::2], strict=True)
    }


def pairs(text: str) -> dict[str, str]:
    """Parses words and their translations: `"red: rot, blue: blau"`."""
    return dict(pair.strip().split(": ") for pair in text.split(","))


def split_key(item: str) -> tuple[str, str]:
    """Splits `"train/2"` into `("train", "2")`; a word without a key has the key `""`."""
    word, _, key = item.partition("/")
    return word, key


class _Slot(NamedTuple):
    name: str
    category: str
    form: str
    governs: bool


class _Word(NamedTuple):
    alternatives: list[str]
    key: str


@cache
def _parse(side: str) -> list[_Slot | _Word]:
    return [_parse_item(item) for item in side.split()]


def _parse_item(item: str) -> _Slot | _Word:
    if slot := SLOT.fullmatch(item):
        return _Slot(slot["name"], slot["category"], slot["form"] or "", bool(slot["star"]))
    if END.fullmatch(item):
        return _Word([item], "end")
    words, key = split_key(item)
    return _Word(words.split("|"), key)


def _fill(side: str, language: str, fills: Mapping[str, Phrase], agreement: int) -> str:
    """Returns the keyed words of one side of a rule. Keys from inside a slot are prefixed by its name, so that none
    collide."""
    keyed: list[tuple[str, str]] = []
    for item in _parse(side):
        if isinstance(item, _Slot):
            inner = map(split_key, fills[item.name].form(item.form, language).split())
            keyed += [(word, key and f"{item.name}.{key}") for word, key in inner]
        else:
            keyed.append((item.alternatives[agreement if len(item.alternatives) > 1 else 0], item.key))
    return " ".join(f"{word}/{key}" if key else word for word, key in keyed if word)
