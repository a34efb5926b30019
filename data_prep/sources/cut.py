"""Dev and test cut from a corpus that has no such splits."""

import functools
import hashlib
import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from data_prep.sources.base import RawSplit, Read, Source, from_list, reading
from mt.data.corpus import Example
from mt.data.words import count_words
from mt.errors import UserError

_PARITY = {"dev": 0, "test": 1}

Key = Callable[[Example], int]
Chosen = Mapping[str, list[tuple[int, Example]]]
"""The pairs of each split that is cut, with their keys, in the order of the corpus."""


def cut(source: Source, sizes: Mapping[str, int], longest: int, *, by_source: bool = False) -> Source:
    """Returns a source with dev, test or both cut from its training pairs.

    Each pair has a key, the hash of its two texts, or of the first alone. Pairs with an even key can become dev, pairs
    with an odd one test, and those with the smallest keys do. So equal pairs come to one split, no pair can move
    between dev and test, and pairs that are added to the corpus displace few of them. Pairs that dev and test could not
    hold stay in train.

    The choice costs a pass over the text, when it is first needed.

    Args:
        sizes: the least number of pairs of each split that is cut. Copies of one pair come together, and can make
            it more.
        longest: most words of a side in dev and test.
        by_source: whether the source alone decides, as the name of a sound whatever its text is.
    """
    whole = source.splits["train"]
    key, hashed = (key_of_source, "name") if by_source else (key_of_pair, "pair")

    @functools.cache
    def chosen() -> Chosen:
        return _choose(whole.read, sizes, longest, key)

    def part(split: str) -> RawSplit:
        return from_list(lambda: [example for _, example in chosen()[split]], whole.sides, whole.columns)

    def rest() -> Iterator[Example]:
        taken = {number for pairs in chosen().values() for number, _ in pairs}
        return (example for example in whole.read() if key(example) not in taken)

    def rest_size() -> int:
        size = whole.size()  # first: it compares the sides
        # A stream may not know how many pairs it has, and says 0.
        return max(size - sum(map(len, chosen().values())), 0)

    def notes() -> list[str]:
        counts = " and ".join(f"{len(pairs):,} for {split}" for split, pairs in chosen().items())
        return [*source.notes(), f"cut from train by a hash of each {hashed}: {counts}"]

    train = replace(whole, read=reading(rest), size=rest_size)
    return replace(
        source, splits={**source.splits, "train": train, **{split: part(split) for split in sizes}}, notes=notes
    )


def _choose(read: Read, sizes: Mapping[str, int], longest: int, key: Key) -> Chosen:
    """Chooses the pairs of each split. Raises UserError where the corpus is too small."""
    smallest = {split: _Smallest(size) for split, size in sizes.items()}
    eligible = dict.fromkeys(sizes, 0)
    for number, example in enumerate(read()):
        hashed = key(example)
        for split, pairs in smallest.items():
            if hashed % 2 == _PARITY[split] and _fits(example, longest):
                eligible[split] += 1
                pairs.add(hashed, number, example)
    for split, size in sizes.items():
        if size > (most := eligible[split] // 2):
            raise UserError(
                f"dataset.{split}_size={size} is too much to cut from train: choose at most {most:,}, which is "
                f"about a quarter of it, or leave it out and give {split} files of its own"
            )
    return {split: pairs.in_order() for split, pairs in smallest.items()}


def _fits(example: Example, longest: int) -> bool:
    lengths = count_words(example.source), count_words(example.target)
    return min(lengths) > 0 and max(lengths) <= longest


class _Smallest:
    """Keeps the pairs with the smallest keys, at least `size` of them: all pairs of one key, or none."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._count = 0
        self._pairs: dict[int, list[tuple[int, Example]]] = {}
        self._heap: list[int] = []  # negative keys: the largest key comes first

    def add(self, key: int, number: int, example: Example) -> None:
        """Adds a pair where its key is small enough. number: the place of the pair in its corpus."""
        if key not in self._pairs:
            if self._count >= self._size and key > -self._heap[0]:
                return
            heapq.heappush(self._heap, -key)
        self._pairs.setdefault(key, []).append((number, example))
        self._count += 1
        while self._count - len(self._pairs[-self._heap[0]]) >= self._size:
            self._count -= len(self._pairs.pop(-heapq.heappop(self._heap)))

    def in_order(self) -> list[tuple[int, Example]]:
        """Returns keys and pairs, in the order of the corpus."""
        rows = [(number, key, example) for key, pairs in self._pairs.items() for number, example in pairs]
        return [(key, example) for _, key, example in sorted(rows)]


def key_of_pair(example: Example) -> int:
    """Returns 64 bits of a hash of the two texts, the same on every machine."""
    # No text holds NUL, so that the sides do not run into one another.
    return _hash(f"{example.source}\0{example.target}")


def key_of_source(example: Example) -> int:
    """Returns 64 bits of a hash of the source alone."""
    return _hash(example.source)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
