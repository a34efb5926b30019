from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from data_prep.generated.bulletin import GRAMMARS, TOPICS
from data_prep.generated.bulletin.grammar import SLOT, Category, Grammar, Story, read_categories

EVERY_TEXT = [
    pytest.param(grammar, Story(story.headline, (text,)), id=f"{topic}: {story.headline}, {i}")
    for topic, grammar in GRAMMARS.items()
    for story in grammar.stories
    for i, text in enumerate(story.texts, start=1)
]


def named(texts: list[str]) -> set[str]:
    return {slot["category"] for text in texts for slot in SLOT.finditer(text)}


def clauses(category: Category) -> Iterator[str]:
    """All strings of a category that is a list."""
    for fact in () if callable(category) else category:
        yield from [fact] if isinstance(fact, str) else fact.values()


def test_there_are_many_topics_stories_and_texts():
    assert len(GRAMMARS) >= 15
    for grammar in GRAMMARS.values():
        assert len(grammar.stories) >= 5
    assert len(EVERY_TEXT) >= 180


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.stem)
def test_a_topic_names_every_category_that_it_alone_has(topic: Path):
    grammar = GRAMMARS[topic.stem]
    used = named([text for story in grammar.stories for text in story.texts])
    while more := named([text for name in used for text in clauses(grammar.categories[name])]) - used:
        used |= more
    assert set(read_categories(topic)) <= used <= set(grammar.categories)


@pytest.mark.parametrize(("grammar", "story"), EVERY_TEXT)
def test_every_text_is_told_in_many_ways_and_tells_what_its_headline_says(grammar: Grammar, story: Story):
    rng = Random(0)
    versions = [grammar.tell(story, rng) for _ in range(40)]  # a fact that only the headline names is a KeyError
    assert len({source for source, _ in versions}) >= 38
    assert len({headline for _, headline in versions}) >= 30
