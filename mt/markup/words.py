"""The words of a sentence and of its translation, and which of them links join."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
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
    """Where what is marked as probably wrong begins and ends in the translation."""


UNSURE = ("[?", "]")
"""What such a word stands between. It is text in all formats, and in attributes and titles, too."""


@dataclass(frozen=True)
class Words:
    """The words of a sentence and of its translation, with what links say.

    Where a tag of the source stands within a word, each side of it is a word of its own. So it is in the translation,
    where a word of it holds that word."""

    texts: tuple[str, str]
    source: Sequence[Span]
    """Where each begins and ends in the text."""
    target: Sequence[Span]
    origins: Sequence[int]
    """The source word that each target word is linked to most, -1 for none."""
    shared: Mapping[int, Sequence[int]]
    """For source words the target words that are linked to them, but more to another: a compound belongs to several."""

    @classmethod
    def of(cls, source: str, linked: Linked, cuts: Sequence[int] = ()) -> "Words":
        """Returns the words of a text and of its translation. cuts: places of tags in the source, in order."""
        wholes = word_spans(source)
        parts = [[*_parts(span, cuts)] for span in wholes]
        first_parts = [*accumulate(map(len, parts), initial=0)]
        target_wholes = word_spans(linked.text)
        counts = _counts(linked, len(source), parts, target_wholes)
        # What is the same on both sides is linked to itself alone, be attention what it may.
        texts = [source[begin:end] for begin, end in wholes]
        same = _same(texts, [linked.text[begin:end] for begin, end in target_wholes])
        taken = {*same.values()}
        # Target words with the source word that each is linked to most.
        target: list[Span] = []
        origins: list[int] = []
        shared: dict[int, list[int]] = defaultdict(list)
        for j, span in enumerate(target_wholes):
            of_words = Counter[int]()
            for (i, _), count in counts[j].items():
                of_words[i] += count
            i = same.get(j, next((i for i, _ in of_words.most_common(1) if i not in taken), -1))
            begin = linked.text.find(texts[i], *span) if i >= 0 and len(parts[i]) > 1 else -1
            if begin >= 0:
                inner = [first - wholes[i][0] + begin for first, _ in parts[i][1:]]
                target += pairwise([span[0], *inner, span[1]])
                origins += range(first_parts[i], first_parts[i + 1])
                continue
            linked_parts = [
                first_parts[word] + part for (word, part), _ in counts[j].most_common() if word not in taken
            ]
            origin = next(
                (part for part in linked_parts if first_parts[i] <= part < first_parts[i + 1]), first_parts[i]
            )
            for part in {*linked_parts} - {origin} if j not in same else ():
                shared[part].append(len(target))
            target.append(span)
            origins.append(origin if i >= 0 else -1)
        return cls((source, linked.text), [*chain.from_iterable(parts)], target, origins, shared)

    def text(self, side: int, word: int) -> str:
        """Returns a word of the source (side 0) or of the translation (1)."""
        return self.texts[side][slice(*(self.source, self.target)[side][word])]

    def is_mark(self, side: int, word: int) -> bool:
        """Returns whether a word has no letter or digit, and is no placeholder."""
        text = self.text(side, word)
        return not any(letter.isalnum() for letter in text) and text not in SYMBOLS


def _parts(span: Span, cuts: Sequence[int]) -> Iterable[Span]:
    """Returns the parts of a word between tags."""
    begin, end = span
    inner = cuts[bisect_right(cuts, begin) : bisect_left(cuts, end)]
    return pairwise([begin, *inner, end])


def _counts(
    linked: Linked, length: int, parts: Sequence[Sequence[Span]], target: Sequence[Span]
) -> dict[int, Counter[Span]]:
    """Returns for each target word how many links it has to each part of a source word. length: of the source."""
    owners: list[Span | None] = [None] * length
    for word, of_word in enumerate(parts):
        for part, (begin, end) in enumerate(of_word):
            owners[begin:end] = [(word, part)] * (end - begin)
    target_of = _numbers(target, len(linked.text))
    counts: dict[int, Counter[Span]] = defaultdict(Counter)
    for i, j in linked.links:
        if 0 <= i < length and 0 <= j < len(linked.text) and target_of[j] >= 0 and (owner := owners[i]):
            counts[target_of[j]][owner] += 1
    return counts


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
