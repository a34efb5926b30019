"""Dev and test cut from a corpus that has no such splits."""

import functools
import hashlib
import heapq
from collections.abc import Collection, Iterator, Mapping

from data_prep.sources.base import Source
from mt.data.corpus import Example
from mt.data.words import count_words
from mt.errors import UserError

_PARITY = {"dev": 0, "test": 1}


class Cut(Source):
    """Another source, with dev, test or both cut from its training pairs.

    Each pair has a key, the hash of its two texts, or of the first alone. Pairs with an even key can become dev, pairs
    with an odd one test, and those with the smallest keys do. So equal pairs come to one split, no pair can move
    between dev and test, and pairs that are added to the corpus displace few of them. Pairs that dev and test could not
    hold stay in train.

    The choice costs a pass over the text.
    """

    def __init__(self, whole: Source, sizes: Mapping[str, int], longest: int, *, by_source: bool = False) -> None:
        """
        Args:
            sizes: the least number of pairs of each split that is cut. Copies of one pair come together, and can make
                it more.
            longest: most words of a side in dev and test.
            by_source: whether the source alone decides, as the name of a sound whatever its text is.
        """
        self._whole = whole
        self._sizes = sizes
        self._longest = longest
        self._key, self._kind = (key_of_source, "name") if by_source else (key_of_pair, "pair")

    def identity(self) -> str:
        return self._whole.identity()

    def size(self, split: str) -> int:
        if split in self._sizes:
            return len(self._chosen[split])
        whole = self._whole.size(split)  # first: it compares the sides
        taken = sum(map(len, self._chosen.values())) if split == "train" else 0
        return max(whole - taken, 0)  # a stream may not know how many it has, and says 0

    def examples(self, split: str) -> Iterator[Example]:
        if split in self._sizes:
            return (example for _, example in self._chosen[split])
        examples, key = self._whole.examples(split), self._key
        return (example for example in examples if key(example) not in self._keys) if split == "train" else examples

    def columns(self, split: str) -> Collection[str]:
        return self._whole.columns("train" if split in self._sizes else split)

    def places(self, split: str) -> tuple[str, str]:
        return self._whole.places("train" if split in self._sizes else split)

    def notes(self) -> list[str]:
        sizes = " and ".join(f"{len(chosen):,} for {split}" for split, chosen in self._chosen.items())
        return [*self._whole.notes(), f"cut from train by a hash of each {self._kind}: {sizes}"]

    @functools.cached_property
    def _keys(self) -> frozenset[int]:
        return frozenset(found for chosen in self._chosen.values() for found, _ in chosen)

    @functools.cached_property
    def _chosen(self) -> dict[str, list[tuple[int, Example]]]:
        """The pairs of each split that is cut, with their keys, in the order of the corpus."""
        smallest = {split: _Smallest(size) for split, size in self._sizes.items()}
        eligible = dict.fromkeys(self._sizes, 0)
        for number, example in enumerate(self._whole.examples("train")):
            found = self._key(example)
            for split, kept in smallest.items():
                if found % 2 == _PARITY[split] and self._fits(example):
                    eligible[split] += 1
                    kept.add(found, number, example)
        for split, size in self._sizes.items():
            if size > (most := eligible[split] // 2):
                raise UserError(
                    f"dataset.{split}_size={size} is too much to cut from train: choose at most {most:,}, which is "
                    f"about a quarter of it, or leave it out and give {split} files of its own"
                )
        return {split: kept.in_order() for split, kept in smallest.items()}

    def _fits(self, example: Example) -> bool:
        lengths = count_words(example.source), count_words(example.target)
        return min(lengths) > 0 and max(lengths) <= self._longest


class _Smallest:
    """The pairs with the smallest keys, at least `size` of them: all pairs of one key, or none."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._count = 0
        self._pairs: dict[int, list[tuple[int, Example]]] = {}
        self._heap: list[int] = []  # negative keys: the largest key comes first

    def add(self, found: int, number: int, example: Example) -> None:
        """number: the place of the pair in its corpus."""
        if found not in self._pairs:
            if self._count >= self._size and found > -self._heap[0]:
                return
            heapq.heappush(self._heap, -found)
        self._pairs.setdefault(found, []).append((number, example))
        self._count += 1
        while self._count - len(self._pairs[-self._heap[0]]) >= self._size:
            self._count -= len(self._pairs.pop(-heapq.heappop(self._heap)))

    def in_order(self) -> list[tuple[int, Example]]:
        """Keys and pairs, in the order of the corpus."""
        rows = [(number, found, example) for found, pairs in self._pairs.items() for number, example in pairs]
        return [(found, example) for _, found, example in sorted(rows)]


def key_of_pair(example: Example) -> int:
    """64 bits of a hash of the two texts, the same on every machine."""
    # No text holds NUL, so that the sides do not run into one another.
    return _hash(f"{example.source}\0{example.target}")


def key_of_source(example: Example) -> int:
    """Likewise, of the source alone."""
    return _hash(example.source)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
