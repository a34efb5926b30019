"""The embedded data set: English to German sentences about quantities, prices, dates, times of day and appointments.

A small seeded grammar writes both languages at once, so each pair comes with its gold word alignment. Every English
sentence has one German translation in the whole set, and no sentence of one split occurs in another.
"""

import re
from collections.abc import Mapping
from random import Random

from data_prep.generated.phrasebook.grammar import Grammar, Phrase, read_rules, split_key
from data_prep.generated.phrasebook.lexicon import LEXICON
from data_prep.generated.phrasebook.sentences import TEMPLATES
from mt.data.corpus import Example

SIZES: Mapping[str, int] = {"train": 20_000, "dev": 1_000, "test": 1_000}
RULES = read_rules(TEMPLATES)
GRAMMAR = Grammar(LEXICON | RULES)


def generate(seed: int = 1, sizes: Mapping[str, int] = SIZES) -> dict[str, list[Example]]:
    """Returns the splits named in `sizes`, each with that many examples: a pure function of its arguments."""
    rng = Random(seed)
    drawn: dict[str, Example] = {}  # by source: none occurs twice
    while len(drawn) < sum(sizes.values()):
        example = realise(GRAMMAR.draw("sentence", rng))
        drawn.setdefault(example.source, example)
    examples = list(drawn.values())
    rng.shuffle(examples)  # late draws avoid the short sentences that are used up; every split shall have its share
    remaining = iter(examples)
    return {split: [next(remaining) for _ in range(size)] for split, size in sizes.items()}


def realise(sentence: Phrase) -> Example:
    """Returns the texts of a derived sentence, and the links between words of equal keys, counted as by
    `mt.data.words.words`."""
    source, target = ([split_key(item) for item in sentence.forms[side].split()] for side in ("en", "de"))
    positions: dict[str, list[int]] = {}
    for j, (_, key) in enumerate(target):
        positions.setdefault(key, []).append(j)
    links = [f"{i}-{j}" for i, (_, key) in enumerate(source) if key for j in positions.get(key, [])]
    return Example(_detokenise(source), _detokenise(target), " ".join(links))


def _detokenise(keyed: list[tuple[str, str]]) -> str:
    text = re.sub(r" ([.,?!])", r"\1", " ".join(word for word, _ in keyed))
    return text[0].upper() + text[1:]
