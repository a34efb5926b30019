"""What raw text is: splits that can be read again and again, and what all of it is called in errors and fingerprints.

A kind of source is a function that returns a `Source`. A step between reading and cleaning is a function that returns
it with some of its splits changed: `without_test`, `spread`, `mix`, `shorten`, and `cut`, which chooses dev and test.
First come the files of a folder, then sources, then the steps.
"""

import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from mt.common.input_files import sha256
from mt.data.corpus import Example
from mt.data.words import count_words, first_words
from mt.errors import UserError

# The files of a folder, without what systems leave beside them, and a digest that changes when one of them does.

# As `__MACOSX/._train.en`, `.DS_Store`, `Thumbs.db`.
_LITTER = {"__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "$recycle.bin"}


def is_litter(name: str) -> bool:
    """Returns whether a path inside a folder or an archive is a file that systems leave there.

    Such a file is hidden, in a hidden folder, or has one of their names."""
    return any(part.startswith(".") or part.lower() in _LITTER for part in PurePosixPath(name).parts)


def files_below(folder: Path, pattern: str = "*") -> list[Path]:
    """Returns the files whose names match, sorted, without litter."""
    paths = (path for path in folder.rglob(pattern) if not is_litter(path.relative_to(folder).as_posix()))
    return sorted(path for path in paths if path.is_file())


def digest(files: Iterable[tuple[str, Path]]) -> str:
    """Returns the SHA-256 (hex) of the contents and of what each file is read as, in this order."""
    contents = [[kind, sha256(path)] for kind, path in files]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()


# Raw pairs in splits.

Records = Iterator[tuple[str, Example]]
"""Pairs, each with its origin in words: `train.tsv, line 3`."""

Read = Callable[[], Iterator[Example]]
"""Reads the pairs of a split in order, as they are asked for."""


@dataclass(frozen=True)
class RawSplit:
    """The raw pairs of one split. They can be read any number of times."""

    read: Read
    """Raises UserError where files have no pairs, or differ in how many they have."""
    sides: tuple[str, str]
    """What to call a line of either side in an error, up to its number (from 1)."""
    columns: Callable[[], Collection[str]] = tuple
    """Names what can be read: the endings of the files, or the columns of the table."""
    records: Callable[[], Records] = lambda: iter(())
    """Reads the files themselves, before any step: of splits that are files."""
    holds_media: Callable[[], bool] = lambda: False
    """Whether the sources of `records` are cells of the table itself, which hold sounds or pictures."""


@dataclass(frozen=True)
class Source:
    """Raw pairs in the splits `train`, `dev` and `test`."""

    splits: Mapping[str, RawSplit]
    identity: Callable[[], str]
    """Changes when the raw text changes."""
    files: Callable[[], Iterable[Path]] = tuple
    """The files whose contents are in `identity`, but those that nobody changes."""
    notes: Callable[[], list[str]] = list
    """Sentences on what reading silently puts right, to be printed once."""
    mixed: tuple[RawSplit, ...] = ()
    """The training pairs of each corpus, where train is a mixture of several."""

    @property
    def training(self) -> tuple[RawSplit, ...]:
        """Returns the training pairs of each corpus, or of the only one."""
        return self.mixed or (self.splits["train"],)

    def stamps(self) -> list[tuple[str, int, int]]:
        """Returns the size and the time of the last change of each file: others where one changes meanwhile."""
        stats = ((str(path), path.stat()) for path in self.files() if path.is_file())
        return [(path, stat.st_size, stat.st_mtime_ns) for path, stat in stats]


def from_list(
    examples: Callable[[], Sequence[Example]], sides: tuple[str, str], columns: Callable[[], Collection[str]] = tuple
) -> RawSplit:
    """Returns the split that holds a list, which is made only when it is asked for."""
    return RawSplit(lambda: iter(examples()), sides, columns)


def from_lists(
    made: Callable[[], Mapping[str, Sequence[Example]]], place: object, names: tuple[str, str], splits: Iterable[str]
) -> dict[str, RawSplit]:
    """Returns splits that are made all at once, when one is first read. names: of the sides of a pair."""
    made_once = functools.cache(made)

    def from_split(split: str) -> RawSplit:
        sides = f"{place}, {split}, {names[0]}", f"{place}, {split}, {names[1]}"
        return from_list(lambda: made_once()[split], sides)

    return {split: from_split(split) for split in splits}


def require_some(examples: Iterator[Example], emptiness: Callable[[], str]) -> Iterator[Example]:
    """Yields the examples. Raises UserError, with what `emptiness` says, where there are none."""
    first_example = next(examples, None)
    if first_example is None:
        raise UserError(emptiness())
    yield first_example
    yield from examples


# Steps. Each takes a source, and returns it with some of its splits changed.


def without_test(source: Source) -> Source:
    """Returns a source with an empty test split."""
    empty = from_list(tuple, source.splits["dev"].sides)
    return replace(source, splits={**source.splits, "test": empty})


def spread(source: Source) -> Source:
    """Returns a source with each reference of a training example as a further pair, one after another."""
    train = source.splits["train"]

    def read() -> Iterator[Example]:
        for example in train.read():
            yield example
            yield from (example._replace(target=text, links="") for text in example.more_references)

    return replace(source, splits={**source.splits, "train": replace(train, read=read)})


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
    """Returns a source with only the first words of its sources, and of its targets in train: references stay whole.

    See et al. 2017, section 4: 400 words of an article, 100 of its summary.
    """

    def shortened(split: RawSplit, limit: int | None) -> RawSplit:
        return replace(split, read=_first_words(split.read, source_limit, limit))

    splits = {
        name: shortened(split, target_limit if name == "train" else None) for name, split in source.splits.items()
    }
    return replace(source, splits=splits, mixed=tuple(shortened(split, target_limit) for split in source.mixed))


def _first_words(whole: Read, source_limit: int | None, target_limit: int | None) -> Read:
    def read() -> Iterator[Example]:
        for example in whole():
            source = first_words(example.source, source_limit)
            target = first_words(example.target, target_limit)
            unchanged = (source, target) == (example.source, example.target)
            # Links could point beyond what stays.
            yield example if unchanged else Example(source, target, more_references=example.more_references)

    return read


# Dev and test cut from a corpus that has no such splits.

_PARITY = {"dev": 0, "test": 1}

_SPARE = 10_000  # pairs in memory besides

Key = Callable[[Example], int]
_Groups = dict[int, list[tuple[int, int, Example]]]
"""The pairs of each key, with their place in the corpus and the key."""
Chosen = Mapping[str, list[tuple[int, Example]]]
"""The pairs of each split that is cut, with their keys, in the order of the corpus."""


def cut(source: Source, sizes: Mapping[str, int], longest: int, *, by_source: bool = False) -> Source:
    """Returns a source with dev, test or both cut from its training pairs.

    Each pair has a key, the hash of its two texts, or of the first alone. Pairs with an even key can become dev, pairs
    with an odd one test, and those with the smallest keys do. So equal pairs come to one split, and no pair can move
    between dev and test. Pairs that are added to the corpus displace few of them. Pairs that dev and test could not
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

    # The pass over the text is made once, when dev, test or train is first read.
    @functools.cache
    def chosen() -> Chosen:
        return _choose(whole.read, sizes, longest, key)

    def chosen_split(split: str) -> RawSplit:
        return from_list(lambda: [example for _, example in chosen()[split]], whole.sides, whole.columns)

    # Train keeps all pairs but the chosen ones, which are recognised by their keys.
    def rest() -> Iterator[Example]:
        taken = {number for pairs in chosen().values() for number, _ in pairs}
        return (example for example in whole.read() if key(example) not in taken)

    def notes() -> list[str]:
        counts = " and ".join(f"{len(pairs):,} for {split}" for split, pairs in chosen().items())
        return [*source.notes(), f"cut from train by a hash of each {hashed}: {counts}"]

    # The new source differs from the old in its splits and notes alone.
    train = replace(whole, read=rest)
    return replace(
        source, splits={**source.splits, "train": train, **{split: chosen_split(split) for split in sizes}}, notes=notes
    )


def _choose(read: Read, sizes: Mapping[str, int], longest: int, key: Key) -> Chosen:
    """Chooses the pairs of each split. Raises UserError where the corpus is too small."""
    groups: dict[str, _Groups] = {split: {} for split in sizes}
    eligible = dict.fromkeys(sizes, 0)
    for number, example in enumerate(read()):
        hashed = key(example)
        for split, size in sizes.items():
            if hashed % 2 == _PARITY[split] and _fits(example, longest):
                eligible[split] += 1
                groups[split].setdefault(hashed, []).append((number, hashed, example))
                # What cannot be among the smallest any more is forgotten now and then, to save memory.
                if eligible[split] % (size + _SPARE) == 0:
                    groups[split] = _smallest(groups[split], size)
    for split, size in sizes.items():
        if size > (most := eligible[split] // 2):
            raise UserError(
                f"dataset.{split}_size={size} is too much to cut from train: choose at most {most:,}, which is about a "
                f"quarter, or give {split} files of its own"
            )
    chosen = {split: sorted(itertools.chain(*_smallest(groups[split], size).values())) for split, size in sizes.items()}
    return {split: [(hashed, example) for _, hashed, example in placed] for split, placed in chosen.items()}


def _fits(example: Example, longest: int) -> bool:
    lengths = count_words(example.source), count_words(example.target)
    return min(lengths) > 0 and max(lengths) <= longest


def _smallest(groups: _Groups, size: int) -> _Groups:
    """Returns the groups with the smallest keys, as few as hold at least `size` pairs."""
    smallest: _Groups = {}
    count = 0
    for key in sorted(groups):
        if count < size:
            smallest[key] = groups[key]
            count += len(groups[key])
    return smallest


def key_of_pair(example: Example) -> int:
    return int.from_bytes(hash_of_pair(example.source, example.target), "little")


def key_of_source(example: Example) -> int:
    return int.from_bytes(_hash(example.source), "little")


def hash_of_pair(source: str, target: str) -> bytes:
    """Returns 8 bytes that stand for two texts, the same on every machine."""
    # No text holds NUL, so that the sides do not run into one another.
    return _hash(f"{source}\0{target}")


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
