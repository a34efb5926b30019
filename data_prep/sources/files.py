"""Pairs in local files: for each split two parallel texts, or one table."""

import codecs
import collections
import itertools
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from data_prep.sources.base import Source
from data_prep.sources.cells import Columns
from data_prep.sources.digest import digest
from data_prep.sources.litter import is_litter
from data_prep.sources.moses import MosesArchive
from data_prep.sources.tables import TABLES, ParquetFile
from data_prep.sources.tmx import TmxFile
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.fields import build_field
from mt.errors import UserError
from mt.text_io import COMPRESSED, count_lines, file_lines, opened

_BLOCK = 1 << 20
_KINDS = {**TABLES, ".tmx": TmxFile, ".zip": MosesArchive}
_MARKLESS = (".parquet", ".zip")
"""Endings of files whose first bytes say nothing about their lines."""


class Pairs(Protocol):
    """One split on disk."""

    paths: tuple[Path, ...]

    def roles(self) -> tuple[str, ...]:
        """What each of the paths is read as."""

    def size(self) -> int: ...
    def examples(self) -> Iterator[Example]: ...
    def examples_at(self, rows: Iterable[range]) -> Iterator[Example]:
        """As of `Source`."""

    def located(self) -> Iterator[tuple[str, Example]]:
        """Each pair with what to call its line in an error."""

    def columns(self) -> Collection[str]: ...
    def embedded(self) -> str | None:
        """As of `Listing`."""

    def places(self) -> tuple[str, str]: ...


class LocalFiles(Source):
    """`<split>.<source>` and `<split>.<target>`, or a table `<split>.tsv`, `.csv`, `.jsonl` or `.parquet`, or a
    translation memory `<split>.tmx`, or an archive `<split>.zip` with two texts.

    All but archives and parquet may be compressed and end in `.gz` or `.zst`. Text is UTF-8. Texts of dev and test may
    have further references beside them, `<split>.<reference>`.
    """

    def __init__(self, config: DatasetConfig, folder: Path, splits: Collection[str] | None = None) -> None:
        """splits: those to read; None: all that are not cut from train."""
        self._folder = folder
        media = not build_field(config.field).written
        self._splits = {
            split: _find(folder, config.splits[split], config.columns(split), media) for split in splits or config.given
        }
        self._sizes: dict[str, int] = {}  # each costs a pass over a file

    def holds_text(self) -> bool:
        """Whether some split has a text."""
        return any(isinstance(pairs, ParallelText) and len(pairs.missing()) < 2 for pairs in self._splits.values())

    def require_all(self) -> None:
        """Raises UserError where files are missing."""
        texts = (pairs for pairs in self._splits.values() if isinstance(pairs, ParallelText))
        missing = dict.fromkeys(path for pairs in texts for path in pairs.missing())
        if missing:
            present = _names(self._folder) if self._folder.is_dir() else None
            there = "no such folder" if present is None else f"it holds: {', '.join(present[:20]) or 'nothing'}"
            raise UserError(
                f"{self._folder} lacks {', '.join(path.name for path in missing)} ({there}): set dataset.folder, "
                "dataset.source, dataset.target and dataset.splits so that <split>.<source> and <split>.<target> name "
                "the files, or <split>.tsv, .csv, .jsonl or .parquet tables with such columns, or <split>.tmx or .zip "
                "such languages; without dev and test, dataset.dev_size=1000 dataset.test_size=1000 cut them from train"
            )

    def identity(self) -> str:
        return digest(
            (f"{split} {role}", path)
            for split, pairs in self._splits.items()
            for role, path in zip(pairs.roles(), pairs.paths, strict=True)
        )

    def size(self, split: str) -> int:
        if split not in self._sizes:
            self._sizes[split] = self._splits[split].size()
        return self._sizes[split]

    def examples(self, split: str) -> Iterator[Example]:
        return self._splits[split].examples()

    def examples_at(self, split: str, rows: Iterable[range]) -> Iterator[Example]:
        return self._splits[split].examples_at(rows)

    def located(self, split: str) -> Iterator[tuple[str, Example]]:
        """Each pair with what to call its line in an error."""
        return self._splits[split].located()

    def columns(self, split: str) -> Collection[str]:
        return self._splits[split].columns()

    def embedded(self, split: str) -> str | None:
        """As of `Listing`."""
        return self._splits[split].embedded()

    def places(self, split: str) -> tuple[str, str]:
        return self._splits[split].places()

    def notes(self) -> list[str]:
        paths = dict.fromkeys(path for pairs in self._splits.values() for path in pairs.paths)
        found = ((path, _marks(path)) for path in paths if path.suffix not in _MARKLESS)
        return [f"{path}: {' and '.join(marks)} left out" for path, marks in found if marks]


class ParallelText:
    """Texts of one sentence a line: line N of one belongs to line N of the others."""

    def __init__(self, folder: Path, name: str, columns: Columns) -> None:
        found = [(column, _present(folder / f"{name}.{column}")) for column in columns]
        self._found = [*found[:2], *((column, path) for column, path in found[2:] if path.is_file())]
        self.paths: tuple[Path, ...] = tuple(path for _, path in self._found)
        self._start = f"{(folder / name).name}."

    def roles(self) -> tuple[str, ...]:
        return tuple(f"text {column}" for column, _ in self._found)

    def missing(self) -> tuple[Path, ...]:
        """The sides that are not there."""
        return tuple(path for path in self.paths[:2] if not path.is_file())

    def size(self) -> int:
        counts = [_count_lines(path) for path in self.paths]
        for path, count in zip(self.paths, counts, strict=True):
            if count == 0:
                raise UserError(f"{path} is empty: expected one sentence a line")
        for other, count in zip(self.paths, counts, strict=True):
            if count != counts[0]:
                for path in (self.paths[0], other):
                    collections.deque(file_lines(path), maxlen=0)  # an encoding with other line ends is refused as such
                raise UserError(
                    f"{self.paths[0]} has {counts[0]:,} lines and {other} has {count:,}: "
                    "line N of one must belong to line N of the other"
                )
        return counts[0]

    def examples(self) -> Iterator[Example]:
        return self.examples_at()

    def examples_at(self, rows: Iterable[range] | None = None) -> Iterator[Example]:
        copies = [None] * len(self.paths) if rows is None else itertools.tee(rows, len(self.paths))
        found = zip(*map(file_lines, self.paths, copies), strict=True)
        try:
            if len(self.paths) == 2:
                yield from itertools.starmap(Example, found)
            else:
                yield from (Example(source, target, "", tuple(more)) for source, target, *more in found)
        except ValueError as error:
            raise UserError(
                f"{' and '.join(map(str, self.paths))} have different numbers of lines: line N of one must belong to "
                "line N of the other, and none may change while it is read"
            ) from error

    def located(self) -> Iterator[tuple[str, Example]]:
        return ((f"{self.paths[0]}, line {number}", pair) for number, pair in enumerate(self.examples(), start=1))

    def columns(self) -> set[str]:
        beside = _names(self.paths[0].parent)
        names = (name.removeprefix(self._start) for name in beside if name.startswith(self._start))
        return {name.removesuffix(".gz").removesuffix(".zst") for name in names}

    def embedded(self) -> None:
        return None

    def places(self) -> tuple[str, str]:
        return f"{self.paths[0]}, line", f"{self.paths[1]}, line"


def _find(folder: Path, name: str, columns: Columns, media: bool) -> Pairs:
    """Texts where there is one, else a table, else the texts that should be there.

    media: whether sources may be sounds or pictures in the cells of a table.
    """
    texts = ParallelText(folder, name, columns)
    if len(texts.missing()) == 2:
        for ending, kind in _KINDS.items():
            if (path := _present(folder / f"{name}{ending}")).is_file():
                rows = f"{name}{ending}"
                return ParquetFile(path, columns, rows) if media and kind is ParquetFile else kind(path, columns)
    return texts


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not is_litter(path.name))


def _present(path: Path) -> Path:
    """The file, or a compressed one in its place."""
    if os.path.lexists(path) and not path.is_file():
        kind = "folder" if path.is_dir() else "pipe or device" if path.exists() else "link to nothing"
        raise UserError(f"{path} is a {kind}: expected a file, which can be read several times")
    named = [path, *(path.with_name(path.name + ending) for ending in COMPRESSED)]
    return next((one for one in named if one.is_file()), path)


def _count_lines(path: Path) -> int:
    with opened(path) as file:
        return count_lines(file)


def _marks(path: Path) -> list[str]:
    """What the start of a text has that its lines are read without."""
    with opened(path) as file:
        block = file.read(_BLOCK)
    marked = block.startswith(codecs.BOM_UTF8) or b"\n" + codecs.BOM_UTF8 in block
    marks = {"byte-order mark": marked, "carriage returns": b"\r\n" in block}
    return [mark for mark, present in marks.items() if present]
