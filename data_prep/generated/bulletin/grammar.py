"""Stories: facts drawn at random, written at length in a source text and in few words in a headline.

The templates are text files: `topics/<topic>.txt` has the stories of a topic and the categories of facts that they
alone name, `lexicon.txt` the categories of all topics, and `names.txt` names. A line that begins with `#` is a comment,
and `[name: kind]` begins a section:

    [stories]                   stories, with a blank line between two: the headline on the first line, then the texts
                                that may tell it, each from a `- ` at the start of a line
    [shop: things]              facts of one form, separated by commas
    [crime_more: clauses]       clauses, one a line
    [verdict: text | short]     facts of several forms, one fact a line: the forms so named, in this order

In headlines, texts and clauses,

    {city}          is a fact of the category `city`, the same one wherever the story names it;
    {city1} {city2} are two facts of a category that differ, in their form `short` where they have one;
    {city.form}     is the fact's form of that name, without one it is the form `text`;
    (one|two|)      is one of these, all equally likely, the last one empty; choices may hold facts and other choices.

Articles are written `a`, and become `an` where they have to; headlines lose theirs. Sentences get their capitals.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

SLOT = re.compile(r"\{(?P<name>(?P<category>[a-z_]+)\d?)(?:\.(?P<form>[a-z]+))?\}")
CHOICE = re.compile(r"\(([^()]*)\)")
SECTION = re.compile(r"^\[(.+)\]$", re.MULTILINE)
LENGTH = range(20, 41)
"""Words of a source text, as blanks separate them."""
ARTICLE = re.compile(r"\b(?:an?|the) ")

_VOWEL = re.compile(r"\b([Aa])(?= (?:[AEIOaei]|o(?!ne)|u(?!ni|se)|8\d?\b|11\b|18\b))")
_SENTENCE = re.compile(r"(?:^|(?<=\. ))[a-z]")

Fact = Mapping[str, str]
"""The forms of a fact by name; `text` is there always."""

Category = Sequence[Fact | str] | Callable[[Random], Fact]
"""Facts and clauses, all equally likely, or a function that draws a fact. They may name other facts in their turn."""


class Story(NamedTuple):
    """One kind of event."""

    headline: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Grammar:
    """The stories of a topic, and the categories that they name."""

    stories: Sequence[Story] = field(repr=False)
    categories: Mapping[str, Category] = field(repr=False)

    def draw(self, rng: Random) -> tuple[str, str]:
        """Draws a story, and returns a source text and its headline."""
        return self.tell(rng.choice(self.stories), rng)

    def tell(self, story: Story, rng: Random) -> tuple[str, str]:
        """Returns a source text of this story and its headline, which names facts of the text alone."""
        source = ""
        while len(source.split()) not in LENGTH:
            facts: dict[str, Fact] = {}
            source = _finish(self._expand(rng.choice(story.texts), facts, rng))
        headline = SLOT.sub(lambda slot: _form(facts[slot["name"]], slot), story.headline)
        return source, _finish(ARTICLE.sub("", headline))

    def _expand(self, template: str, facts: dict[str, Fact], rng: Random) -> str:
        while choice := CHOICE.search(template):
            template = template[: choice.start()] + rng.choice(choice[1].split("|")) + template[choice.end() :]
        return SLOT.sub(lambda slot: _form(self._fact(slot, facts, rng), slot), template)

    def _fact(self, slot: re.Match[str], facts: dict[str, Fact], rng: Random) -> Fact:
        """Returns the fact of this name, drawn where the story does not have it yet."""
        category = slot["category"]
        taken = [_identity(fact) for name, fact in facts.items() if name.rstrip("0123456789") == category]
        while slot["name"] not in facts:
            source = self.categories[category]
            drawn = source(rng) if callable(source) else rng.choice(source)
            forms = {"text": drawn} if isinstance(drawn, str) else drawn
            fact = {form: self._expand(text, facts, rng) for form, text in forms.items()}
            if _identity(fact) not in taken:
                facts[slot["name"]] = fact
        return facts[slot["name"]]


def sections(path: Path) -> dict[tuple[str, str], str]:
    """Reads the sections of a file of templates: the text of each by its name and its kind, "" where it has none."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    _, *parts = SECTION.split("\n".join(lines))
    heads = parts[::2]
    texts = parts[1::2]
    names = [head.partition(":") for head in heads]
    return {(name, kind.strip()): text.strip() for (name, _, kind), text in zip(names, texts, strict=True)}


def read_stories(text: str) -> tuple[Story, ...]:
    """Parses the stories of a section."""
    stories = []
    for block in text.split("\n\n"):
        headline, *texts = block.split("\n- ")
        stories.append(Story(headline, tuple(" ".join(text.split()) for text in texts)))
    return tuple(stories)


def read_categories(path: Path) -> dict[str, Category]:
    """Reads the categories of a file of templates, by name."""
    return {name: read_category(kind, text) for (name, kind), text in sections(path).items() if name != "stories"}


def read_category(kind: str, text: str) -> Category:
    """Parses the facts or clauses of a section of this kind."""
    if kind == "things":
        return tuple({"text": " ".join(thing.split())} for thing in text.split(","))
    if kind == "clauses":
        return tuple(text.split("\n"))
    forms = kind.split(" | ")
    return tuple(dict(zip(forms, line.split(" | "), strict=True)) for line in text.split("\n"))


def _identity(fact: Fact) -> str:
    return fact.get("short", fact["text"])


def _form(fact: Fact, slot: re.Match[str]) -> str:
    return fact[slot["form"] or "text"]


def _finish(text: str) -> str:
    text = " ".join(text.split()).replace(" ,", ",").replace(" :", ":")
    return _SENTENCE.sub(lambda letter: letter[0].upper(), _VOWEL.sub(r"\1n", text))
