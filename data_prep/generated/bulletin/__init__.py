"""The embedded data set of summarization: short English news texts and their headlines, in many topics.

Each text is made of a template and a few facts drawn at random. Its headline has the main fact in other words
(present tense, digits, no articles) and leaves out the dates, sources and side remarks, so that a model has to select
and to rephrase. No text and no headline occurs twice in the whole set.
"""

import re
from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from data_prep.generated.bulletin.facts import FOLDER, LEXICON, UNSEEN
from data_prep.generated.bulletin.grammar import Grammar, read_categories, read_stories, sections

SIZES: Mapping[str, int] = MappingProxyType({"train": 20_000, "dev": 1_000, "test": 1_000})
TOPICS = sorted((FOLDER / "topics").glob("*.txt"))
GRAMMARS: Mapping[str, Grammar] = MappingProxyType(
    {
        topic.stem: Grammar(read_stories(sections(topic)["stories", ""]), LEXICON | read_categories(topic))
        for topic in TOPICS
    }
)


class Example(NamedTuple):
    """A text of one or two sentences, and its headline."""

    source: str
    target: str


def generate(seed: int = 1, sizes: Mapping[str, int] = SIZES) -> dict[str, list[Example]]:
    """Returns the splits named in `sizes`, each with that many examples: a pure function of its arguments.

    Topics are equally frequent. The names of `UNSEEN` occur in `dev` and `test` alone.
    """
    rng = Random(seed)
    splits: dict[str, list[Example]] = {split: [] for split in sizes}
    used: set[str] = set()
    for split, size in sizes.items():
        while len(splits[split]) < size:
            example = Example(*GRAMMARS[rng.choice(list(GRAMMARS))].draw(rng))
            if used.isdisjoint(example) and (split != "train" or not holds_unseen_name(example)):
                used.update(example)
                splits[split].append(example)
    return splits


def holds_unseen_name(example: Example) -> bool:
    """Returns whether the text has a name that no training text has."""
    return not UNSEEN.isdisjoint(re.findall(r"\w+", example.source))
