"""Sources of raw text: splits that can be read again and again, with names for errors and fingerprints.

Each kind of source is a function that returns a `Source`. A step between reading and cleaning is a function that takes
a source and returns it with some splits changed: `without_test`, `spread`, `unmarked`, `mix`, `shorten`, and `cut`,
which chooses dev and test. First come the files of a folder, then sources, then the steps.
"""

import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np

from mt.common.input_files import sha256
from mt.data.corpus import Example
from mt.data.words import VARIANT, count_words, first_words
from mt.errors import UserError

# The files of a folder, without those that operating systems put there, and a digest of their contents.

# Such as `__MACOSX/._train.en`, `.DS_Store`, `Thumbs.db`.
_LITTER = {"__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "$recycle.bin"}


def is_litter(name: str) -> bool:
    """Returns whether a path inside a folder or an archive is hidden, or has a name that operating systems use."""
    return any(part.startswith(".") or part.lower() in _LITTER for part in PurePosixPath(name).parts)


def files_below(folder: Path, pattern: str = "*") -> list[Path]:
    """Returns the files whose names match, sorted, without litter."""
    paths = (path for path in folder.rglob(pattern) if not is_litter(path.relative_to(folder).as_posix()))
    return sorted(path for path in paths if path.is_file())


def digest(files: Iterable[tuple[str, Path]]) -> str:
    """Returns one SHA-256 (hex) of the contents of files, and of what each is read as, in this order."""
    contents = [[kind, sha256(path)] for kind, path in files]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()


def digest_of_code(folder: Path) -> str:
    """Returns a digest that changes when a file of a package changes."""
    paths = [path for path in files_below(folder) if path.suffix != ".pyc"]
    return digest((str(path.relative_to(folder)), path) for path in paths)


# Raw pairs in splits.

Records = Iterator[tuple[str, Example]]
"""Pairs, each with its place in words: `train.tsv, line 3`."""

Read = Callable[[], Iterator[Example]]
"""Reads the pairs of a split in order, as they are asked for."""


@dataclass(frozen=True)
class RawSplit:
    """The raw pairs of one split. They can be read any number of times."""

    read: Read
    """Raises UserError where files have no pairs, or differ in how many they have."""
    sides: tuple[str, str]
    """What errors call a line of either side, up to its number (from 1)."""
    columns: Callable[[], Collection[str]] = tuple
    """Returns the names of all columns: endings of files, or columns of a table."""
    placed: Callable[[], Records] | None = None
    """Reads the pairs of files with their places, before any step; None where there are no files."""

    def records(self) -> Records:
        """Returns the pairs with their places: a file and a line or, without files, a number."""
        return self.placed() if self.placed else ((f"pair {n:,}", pair) for n, pair in enumerate(self.read(), start=1))


@dataclass(frozen=True)
class Source:
    """Raw pairs in the splits `train`, `dev` and `test`."""

    splits: Mapping[str, RawSplit]
    identity: Callable[[], str]
    """Changes when the raw text changes."""
    files: Callable[[], Iterable[Path]] = tuple
    """The files whose contents are in `identity`, apart from those that nobody changes."""
    notes: Callable[[], list[str]] = list
    """Sentences for the user on what reading leaves out or chooses, to be printed once."""
    mixed: tuple[RawSplit, ...] = ()
    """The training pairs of each corpus, where train is a mixture of several."""

    @property
    def training(self) -> tuple[RawSplit, ...]:
        """Returns the training pairs of each corpus, or of the only one."""
        return self.mixed or (self.splits["train"],)

    def stamps(self) -> list[tuple[str, int, int]]:
        """Returns the size and the time of the last change of each file, which show whether one changes meanwhile."""
        stats = ((str(path), path.stat()) for path in self.files() if path.is_file())
        return [(path, stat.st_size, stat.st_mtime_ns) for path, stat in stats]


def from_lists(
    made: Callable[[], Mapping[str, Sequence[Example]]], place: object, names: tuple[str, str], splits: Iterable[str]
) -> dict[str, RawSplit]:
    """Returns splits that are all made when one of them is first read. names: the names of the two sides, for
    errors."""
    made_once = functools.cache(made)
    sides = {split: (f"{place}, {split}, {names[0]}", f"{place}, {split}, {names[1]}") for split in splits}
    return {split: RawSplit(_from_list(made_once, split), sides[split]) for split in sides}


def _from_list(made: Callable[[], Mapping[str, Sequence[Example]]], split: str) -> Read:
    return lambda: iter(made()[split])


def require_some(examples: Iterator[Example], emptiness: Callable[[], str]) -> Iterator[Example]:
    """Yields the examples. Raises UserError with the sentence of `emptiness` where there are none."""
    first_example = next(examples, None)
    if first_example is None:
        raise UserError(emptiness())
    yield first_example
    yield from examples


# Steps. Each takes a source, and returns it with some of its splits changed.


def without_test(source: Source) -> Source:
    """Returns a source with an empty test split."""
    empty = RawSplit(lambda: iter(()), source.splits["dev"].sides)
    return replace(source, splits={**source.splits, "test": empty})


def changed(source: Source, change: Callable[[str, Example], Iterable[Example]]) -> Source:
    """Returns a source with other examples. change: returns, for a split and an example, those in its place."""

    def of_split(name: str, split: RawSplit) -> RawSplit:
        def read() -> Iterator[Example]:
            return itertools.chain.from_iterable(change(name, example) for example in split.read())

        return replace(split, read=read)

    splits = {name: of_split(name, split) for name, split in source.splits.items()}
    return replace(source, splits=splits, mixed=tuple(of_split("train", split) for split in source.mixed))


def grouped(examples: Iterable[Example]) -> list[Example]:
    """Joins the examples of each source to one, in the order of their first ones. Their targets are its references."""
    by_source: dict[str, Example] = {}
    for example in examples:
        known = by_source.setdefault(example.source, example)
        if known is not example:
            more = (*known.more_references, example.target, *example.more_references)
            by_source[example.source] = known._replace(more_references=more)
    return [*by_source.values()]


def spread(source: Source) -> Source:
    """Returns a source in which each further reference of a training example is a pair of its own, after the first."""

    def change(split: str, example: Example) -> list[Example]:
        further = example.more_references if split == "train" else ()
        return [example, *(example._replace(target=text, links="") for text in further)]

    return changed(source, change)


def unmarked(source: Source) -> Source:
    """Returns a source whose words have no marks of further pronunciations, as `abbe(1)` has in CMUdict."""
    return changed(source, lambda _, example: [example._replace(source=VARIANT.sub("", example.source))])


def mix(source: Source, others: Sequence[Source]) -> Source:
    """Returns a source with the training pairs of other sources after those of the first; dev and test are the
    first's."""
    sources = [source, *others]
    trains = tuple(member.splits["train"] for member in sources)
    train = replace(trains[0], read=lambda: itertools.chain.from_iterable(member.read() for member in trains))
    return Source(
        splits={**source.splits, "train": train},
        identity=lambda: json.dumps([member.identity() for member in sources]),
        files=lambda: [path for member in sources for path in member.files()],
        notes=lambda: [note for member in sources for note in member.notes()],
        mixed=trains,
    )


def shorten(source: Source, source_limit: int | None, target_limit: int | None) -> Source:
    """Returns a source with only the first words of each source, and in train of each target. References stay whole.

    See et al. 2017, section 4: 400 words of an article, 100 of its summary.
    """

    def change(split: str, whole: Example) -> list[Example]:
        first = first_words(whole.source, source_limit)
        target = first_words(whole.target, target_limit if split == "train" else None)
        if (first, target) == (whole.source, whole.target):
            return [whole]
        # Links could point beyond what stays.
        return [Example(first, target, more_references=whole.more_references)]

    return changed(source, change)


# Dev and test cut from a corpus that has no such splits.

_PARITY = {"dev": 0, "test": 1}


def cut(source: Source, sizes: Mapping[str, int], longest: int, *, by_source: bool = False) -> Source:
    """Returns a source with dev, test or both cut from its training pairs.

    Each pair has a key, the hash of its two texts, or of the first alone. Pairs with an even key can become dev, pairs
    with an odd key test, and those with the smallest keys do. So equal pairs come to one split, and no pair can move
    between dev and test. Pairs that are added to the corpus displace few of them. Pairs that are too long for dev and
    test, or have an empty side, stay in train.

    The choice costs two passes over the text, when it is first needed, and 8 bytes of memory for each pair.

    Args:
        sizes: the least number of pairs of each split that is cut. Copies of one pair come together, and can make
            it more.
        longest: most words of a side in dev and test.
        by_source: whether the source alone decides, such as the name of a sound, whatever the target is.
    """
    whole = source.splits["train"]

    def key(example: Example) -> int:
        return key_of(example.source) if by_source else key_of(example.source, example.target)

    # The first pass finds the smallest keys of each parity, the second the pairs that have them.
    @functools.cache
    def keys() -> dict[str, set[int]]:
        fitting = np.fromiter((key(example) for example in whole.read() if _fits(example, longest)), np.uint64)
        return {split: _smallest(fitting[fitting % 2 == _PARITY[split]], split, size) for split, size in sizes.items()}

    @functools.cache
    def chosen() -> dict[str, list[Example]]:
        pairs: dict[str, list[Example]] = {split: [] for split in sizes}
        for example in whole.read():
            for split, numbers in keys().items():
                if key(example) in numbers:
                    pairs[split].append(example)
        return pairs

    def rest() -> Iterator[Example]:
        taken = set().union(*keys().values())
        return (example for example in whole.read() if key(example) not in taken)

    def notes() -> list[str]:
        counts = " and ".join(f"{len(pairs):,} for {split}" for split, pairs in chosen().items())
        hashed = "source" if by_source else "pair"
        return [*source.notes(), f"cut from train by a hash of each {hashed}: {counts}"]

    # The new source differs from the old one only in its splits and notes.
    splits = {split: RawSplit(_from_list(chosen, split), whole.sides, whole.columns) for split in sizes}
    return replace(source, splits={**source.splits, "train": replace(whole, read=rest), **splits}, notes=notes)


def _fits(example: Example, longest: int) -> bool:
    """Returns whether an example is short enough for dev and test, and has no empty side."""
    lengths = count_words(example.source), count_words(example.target)
    return min(lengths) > 0 and max(lengths) <= longest


def _smallest(keys: np.ndarray, split: str, size: int) -> set[int]:
    """Returns the smallest keys, which at least `size` pairs have. Raises UserError where the corpus is too small."""
    if size > (most := len(keys) // 2):
        raise UserError(
            f"dataset.{split}_size={size} is too much to cut from train: choose at most {most:,}, which is about a "
            f"quarter, or give {split} files of its own"
        )
    return {*keys[keys <= np.partition(keys, size - 1)[size - 1]].tolist()}


def key_of(*texts: str) -> int:
    """Returns a hash of 64 bits of a text, or of two, which is the same on every machine."""
    # No text holds NUL, so that the sides do not run into one another.
    return int.from_bytes(hashlib.blake2b("\0".join(texts).encode(), digest_size=8).digest(), "little")
