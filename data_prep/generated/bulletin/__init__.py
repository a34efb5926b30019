"""The embedded data set of summarization: short English news texts and their headlines, in many topics.

Each text is made of a template and a few facts drawn at random. Its headline has the main fact in other words: present
tense, digits, no articles. It leaves out dates, sources and side remarks, so that a model has to select and to
rephrase. No text and no headline occurs twice in the whole set.
"""

import re
from collections.abc import Mapping
from random import Random

from data_prep.generated.bulletin.facts import FOLDER, LEXICON, UNSEEN
from data_prep.generated.bulletin.grammar import Grammar, read_categories, read_stories, sections
from mt.data.corpus import Example

SIZES: Mapping[str, int] = {"train": 20_000, "dev": 1_000, "test": 1_000}
TOPICS = sorted((FOLDER / "topics").glob("*.txt"))
GRAMMARS: Mapping[str, Grammar] = {
    topic.stem: Grammar(read_stories(sections(topic)["stories", ""]), LEXICON | read_categories(topic))
    for topic in TOPICS
}


def generate(seed: int = 1, sizes: Mapping[str, int] = SIZES) -> dict[str, list[Example]]:
    """Returns the splits named in `sizes`, each with that many texts and headlines: a pure function of its arguments.

    A text has one or two sentences. Topics are equally frequent. The names of `UNSEEN` occur in `dev` and `test` alone.
    """
    rng = Random(seed)
    splits: dict[str, list[Example]] = {split: [] for split in sizes}
    used: set[str] = set()
    for split, size in sizes.items():
        while len(splits[split]) < size:
            pair = GRAMMARS[rng.choice(list(GRAMMARS))].draw(rng)
            if used.isdisjoint(pair) and (split != "train" or not holds_unseen_name(Example(*pair))):
                used.update(pair)
                splits[split].append(Example(*pair))
    return splits


def holds_unseen_name(example: Example) -> bool:
    """Returns whether the text has a name that no training text has."""
    return not UNSEEN.isdisjoint(re.findall(r"\w+", example.source))
