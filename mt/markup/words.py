"""The words of a sentence and of its translation, and which of them links join."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mt.data.placeholders import SYMBOLS
from mt.data.words import word_spans

Span = tuple[int, int]


class Linked(NamedTuple):
    """A translation with the links of its characters."""

    text: str
    links: Sequence[Span]
    """(source character, target character) pairs, of the texts."""
    tags: Mapping[int, Span] = {}
    """The characters around which the model has put a tag itself, by its number; of an empty one a gap."""


@dataclass(frozen=True)
class Words:
    """The words of a sentence and of its translation, with what links say."""

    source: Sequence[Span]
    """Where each begins and ends in the text."""
    target: Sequence[Span]
    origins: Sequence[int]
    """The source word that each target word is linked to most, -1 for none."""

    @classmethod
    def of(cls, source: str, linked: Linked) -> "Words":
        """Returns the words of a text and of its translation."""
        source_words = word_spans(source)
        target_words = word_spans(linked.text)
        source_of = _numbers(source_words, len(source))
        target_of = _numbers(target_words, len(linked.text))
        counts: dict[int, Counter[int]] = defaultdict(Counter)
        for i, j in linked.links:
            if 0 <= i < len(source) and 0 <= j < len(linked.text) and source_of[i] >= 0 <= target_of[j]:
                counts[target_of[j]][source_of[i]] += 1
        origins = [counts[j].most_common(1)[0][0] if j in counts else -1 for j in range(len(target_words))]
        # What is the same on both sides is linked to itself alone, be attention what it may.
        same = _same(
            [source[begin:end] for begin, end in source_words], [linked.text[begin:end] for begin, end in target_words]
        )
        taken = {*same.values()}
        origins = [same.get(j, -1 if i in taken else i) for j, i in enumerate(origins)]
        return cls(source_words, target_words, origins)


def _same(source: Sequence[str], target: Sequence[str]) -> dict[int, int]:
    """Returns the source words of target words that are surely the same: symbols, and names and numbers that both sides
    have once."""
    places: list[dict[str, list[int]]] = []
    for words in (source, target):
        of_side: dict[str, list[int]] = defaultdict(list)
        for number, word in enumerate(words):
            of_side[word].append(number)
        places.append(of_side)
    same: dict[int, int] = {}
    for word, numbers in places[1].items():
        own = places[0].get(word, [])
        if word in SYMBOLS or (len(numbers) == len(own) == 1 and len(word) > 2):
            same.update(zip(numbers, own, strict=False))
    return same


def _numbers(words: Sequence[Span], length: int) -> list[int]:
    """Returns for each character of a text the number of its word, -1 for blanks."""
    numbers = [-1] * length
    for number, (begin, end) in enumerate(words):
        numbers[begin:end] = [number] * (end - begin)
    return numbers
