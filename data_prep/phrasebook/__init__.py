"""The embedded data set: English to German sentences about quantities, prices, dates, times of day and appointments.

A small seeded grammar writes both languages at once, so each pair comes with its gold word alignment. Every English
sentence has one German translation in the whole set, and no sentence of one split occurs in another.
"""

import re
from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from data_prep.phrasebook.grammar import Grammar, split_key
from data_prep.phrasebook.lexicon import LEXICON
from data_prep.phrasebook.templates import TEMPLATES

SIZES: Mapping[str, int] = MappingProxyType({"train": 20_000, "dev": 1_000, "test": 1_000})
GRAMMAR = Grammar(LEXICON | TEMPLATES)
WORD = re.compile(r"\w+(?:[-'.,:]\w+)*|[^\w\s]")


class Example(NamedTuple):
    """A pair of sentences, detokenised. `links` is in Pharaoh format, 0-based over `words(source)` and `words(target)`."""

    source: str
    target: str
    links: str


def words(text: str) -> list[str]:
    """The words of `text` in either language; a punctuation mark is one, unless it is inside a word or number.

    >>> words("At 15:40, twenty-one o'clock.")
    ['At', '15:40', ',', 'twenty-one', "o'clock", '.']
    """
    return WORD.findall(text)


def generate(seed: int = 1, sizes: Mapping[str, int] = SIZES) -> dict[str, list[Example]]:
    """The splits named in `sizes`, each with that many examples: a pure function of its arguments."""
    rng = Random(seed)
    drawn: dict[str, Example] = {}  # by source: none occurs twice
    while len(drawn) < sum(sizes.values()):
        example = draw(rng)
        drawn.setdefault(example.source, example)
    examples = list(drawn.values())
    rng.shuffle(examples)  # late draws avoid the short sentences that are used up; every split shall have its share
    remaining = iter(examples)
    return {split: [next(remaining) for _ in range(size)] for split, size in sizes.items()}


def draw(rng: Random) -> Example:
    """One random example."""
    sentence = GRAMMAR.draw("sentence", rng)
    source, target = ([split_key(item) for item in sentence.forms[side].split()] for side in ("en", "de"))
    links = [
        f"{i}-{j}" for i, (_, key) in enumerate(source) for j, (_, other) in enumerate(target) if key and key == other
    ]
    return Example(_sentence(source), _sentence(target), " ".join(links))


def _sentence(keyed: list[tuple[str, str]]) -> str:
    text = re.sub(r" ([.,?!])", r"\1", " ".join(word for word, _ in keyed))
    return text[0].upper() + text[1:]
