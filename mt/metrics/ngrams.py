"""N-grams, and the longest common subsequence of two texts."""

from collections.abc import Sequence
from typing import TypeVar

Units = TypeVar("Units", str, tuple[str, ...])
"""The characters of a text, or its words."""


def ngrams(units: Units, order: int) -> list[Units]:
    """Returns the n-grams of `order` units, from the first to the last."""
    return [units[start : start + order] for start in range(len(units) - order + 1)]


def longest_common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Returns the length of the longest common subsequence, by one sum of whole numbers for each word of `other`, whose
    bits are the positions of `one` (Hyyrö 2004)."""
    positions: dict[str, int] = {}
    for position, word in enumerate(one):
        positions[word] = positions.get(word, 0) | 1 << position
    everything = (1 << len(one)) - 1
    unmatched = everything
    for word in other:
        matching = unmatched & positions.get(word, 0)
        unmatched = (unmatched + matching | unmatched - matching) & everything
    return len(one) - unmatched.bit_count()
