"""The words of a sentence and of its translation, and which of them links join."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from mt.data.placeholders import SYMBOLS
from mt.data.words import word_spans

Span = tuple[int, int]


class Linked(NamedTuple):
    """A translation with the links of its characters."""

    text: str
    links: Sequence[Span]
    """(source character, target character) pairs, of the texts."""
    unsure: Sequence[Span] = ()
    """Where words begin and end that are marked as probably wrong, in the translation."""


UNSURE = ("[?", "]")
"""The marks around such a word. They are text in all formats, and in attributes and titles, too."""


@dataclass(frozen=True)
class Words:
    """The words of a sentence and of its translation, and how links join them.

    A tag within a word of the source cuts it into two words. The same word in the translation is cut likewise."""

    texts: tuple[str, str]
    source: Sequence[Span]
    """Where each word begins and ends in the text."""
    target: Sequence[Span]
    origins: Sequence[int]
    """The source word that each target word is linked to most, -1 for none."""
    shared: Mapping[int, Sequence[int]]
    """For source words the target words that have links to them, but more links to another source word: a compound, for
    example, belongs to several words."""

    @classmethod
    def of(cls, source: str, linked: Linked, cuts: Sequence[int] = ()) -> "Words":
        """Returns the words of a text and of its translation. cuts: places of tags in the source, in order."""
        wholes = word_spans(source)
        target_wholes = word_spans(linked.text)
        # Each source word has one part, or several where tags stand in it.
        parts: list[Span] = []
        first_parts = []
        for begin, end in wholes:
            first_parts.append(len(parts))
            parts += pairwise([begin, *cuts[bisect_right(cuts, begin) : bisect_left(cuts, end)], end])
        first_parts.append(len(parts))
        word_of = [word for word, (first, last) in enumerate(pairwise(first_parts)) for _ in range(first, last)]
        counts = _counts(linked, len(source), parts, target_wholes)
        # A word that is the same on both sides is linked to itself alone, whatever the attention says.
        texts = [source[begin:end] for begin, end in wholes]
        same = _same(texts, [linked.text[begin:end] for begin, end in target_wholes])
        taken = {*same.values()}
        # Target words with the source word that each is linked to most.
        target: list[Span] = []
        origins: list[int] = []
        shared: dict[int, list[int]] = defaultdict(list)
        for j, span in enumerate(target_wholes):
            of_words = Counter[int]()
            for part, count in counts[j].items():
                of_words[word_of[part]] += count
            # The source word: the same word, or the one with the most links.
            i = same.get(j, next((i for i, _ in of_words.most_common(1) if i not in taken), -1))
            own = range(first_parts[i], first_parts[i + 1]) if i >= 0 else range(0)
            begin = linked.text.find(texts[i], *span) if len(own) > 1 else -1
            # The parts of a source word that stands within the target word cut that, too.
            if begin >= 0:
                inner = [parts[part][0] - wholes[i][0] + begin for part in own[1:]]
                target += pairwise([span[0], *inner, span[1]])
                origins += own
                continue
            # Otherwise the word is linked to the part with the most links, and shared with the others.
            linked_parts = [part for part, _ in counts[j].most_common() if word_of[part] not in taken]
            origin = next((part for part in linked_parts if part in own), own[0] if own else -1)
            for part in {*linked_parts} - {origin} if j not in same else ():
                shared[part].append(len(target))
            target.append(span)
            origins.append(origin)
        return cls((source, linked.text), parts, target, origins, shared)

    def text(self, side: int, word: int) -> str:
        """Returns a word of the source (side 0) or of the translation (1)."""
        return self.texts[side][slice(*(self.source, self.target)[side][word])]

    def is_mark(self, side: int, word: int) -> bool:
        """Returns whether a word has no letter or digit, and is no placeholder."""
        text = self.text(side, word)
        return not any(letter.isalnum() for letter in text) and text not in SYMBOLS


def _counts(linked: Linked, length: int, source: Sequence[Span], target: Sequence[Span]) -> dict[int, Counter[int]]:
    """Returns for each target word how many links it has to each part of a source word. length: of the source text."""
    source_of = _numbers(source, length)
    target_of = _numbers(target, len(linked.text))
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for i, j in linked.links:
        if 0 <= i < length and 0 <= j < len(linked.text) and source_of[i] >= 0 and target_of[j] >= 0:
            counts[target_of[j]][source_of[i]] += 1
    return counts


def _same(source: Sequence[str], target: Sequence[str]) -> dict[int, int]:
    """Returns target words with the source words that are surely the same: symbols of placeholders, and words, such as
    names and numbers, that both sides have once."""
    places: tuple[dict[str, list[int]], ...] = defaultdict(list), defaultdict(list)
    for of_side, words in zip(places, (source, target), strict=True):
        for number, word in enumerate(words):
            of_side[word].append(number)
    same: dict[int, int] = {}
    for word, numbers in places[1].items():
        own = places[0].get(word, [])
        # Words of one or two letters may be alike by chance.
        if word in SYMBOLS or (len(numbers) == len(own) == 1 and len(word) > 2):
            # Symbols in order; one side may have more of them.
            same.update(zip(numbers, own, strict=False))
    return same


def _numbers(words: Sequence[Span], length: int) -> list[int]:
    """Returns for each character of a text the number of its word, -1 for blanks."""
    numbers = [-1] * length
    for number, (begin, end) in enumerate(words):
        numbers[begin:end] = [number] * (end - begin)
    return numbers
