"""Pairs in local files: for each split two parallel texts, or one table.

`LocalFiles` finds the files of each split, and says which are missing or not read. `ParallelText` reads two texts of
one sentence a line; tables are read by `data_prep.sources.tables`, translation memories by `data_prep.sources.tmx`.
"""

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from data_prep.sources.base import RawSplit, Records, Source, digest, is_litter
from data_prep.sources.cells import Columns
from data_prep.sources.tables import TABLES, TableFile
from data_prep.sources.tmx import TmxFile
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.errors import UserError
from mt.text_io import COMPRESSED, file_lines

_KINDS = {**TABLES, ".tmx": TmxFile}


class LocalFiles:
    """`<split>.<source>` and `<split>.<target>`, or a table `<split>.tsv`, `.csv`, `.jsonl` or `.parquet`, or a
    translation memory `<split>.tmx`.

    All but parquet may be compressed and end in `.gz` or `.zst`. Text is UTF-8. Texts of dev and test may
    have further references beside them, `<split>.<reference>`.
    """

    def __init__(self, config: DatasetConfig, folder: Path, splits: Collection[str] | None = None) -> None:
        """Finds the files of some splits; None: of all that are not cut from train."""
        self._folder = folder
        self._names = config.splits
        self._splits = {
            split: _find(folder, config.splits[split], config.columns(split)) for split in splits or config.uncut
        }

    def source(self) -> Source:
        splits = {split: pairs.split() for split, pairs in self._splits.items()}
        return Source(splits, self._identity, self._read_paths, self._notes)

    def holds_text(self) -> bool:
        """Returns whether some split has a text."""
        return any(isinstance(pairs, ParallelText) and len(pairs.missing()) < 2 for pairs in self._splits.values())

    def require_all(self) -> None:
        """Raises UserError where files are missing."""
        # Texts are missing; tables were found, or they would not be among the splits.
        texts = (pairs for pairs in self._splits.values() if isinstance(pairs, ParallelText))
        missing = dict.fromkeys(path for pairs in texts for path in pairs.missing())
        for split in self._splits if missing else ():
            if (path := self._folder / f"{self._names[split]}.zip").is_file():
                raise UserError(
                    f"{path} is an archive, which only 0.3.0 still reads: unpack it with unzip, and name its texts by "
                    "dataset.splits, dataset.source and dataset.target"
                )
        if missing:
            present = _names(self._folder) if self._folder.is_dir() else None
            there = "no such folder" if present is None else f"it holds: {', '.join(present[:20]) or 'nothing'}"
            raise UserError(
                f"{self._folder} lacks {', '.join(path.name for path in missing)} ({there}): set dataset.folder, "
                "dataset.source, dataset.target and dataset.splits so that <split>.<source> and <split>.<target> name "
                "the files. Or give tables with such columns, <split>.tsv, .csv, .jsonl or .parquet, or <split>.tmx "
                "with such languages. Without dev and test, dataset.dev_size=1000 dataset.test_size=1000 cut them from "
                "train"
            )

    def _identity(self) -> str:
        return digest((f"{split} {kind}", path) for split, pairs in self._splits.items() for kind, path in pairs.files)

    def _read_paths(self) -> dict[Path, None]:
        return dict.fromkeys(path for pairs in self._splits.values() for _, path in pairs.files)

    def _notes(self) -> list[str]:
        """Returns notes on tables that could be a split, but are not read, and those of the files that are."""
        notes = []
        for split, pairs in self._splits.items():
            read = [path for _, path in pairs.files]
            tables = [_present(self._folder / f"{self._names[split]}{ending}") for ending in _KINDS]
            names, beside = (
                " and ".join(path.name for path in paths)
                for paths in (read, [path for path in tables if path.is_file() and path not in read])
            )
            if beside:
                notes.append(f"{self._folder}: {names} are {split}, and {beside} beside them is not read")
            notes += pairs.notes()
        return [*dict.fromkeys(notes)]


class ParallelText(TableFile):
    """Texts of one sentence a line: line N of one belongs to line N of the others. Their names are the path, a dot, and
    the name of the column."""

    def __init__(self, path: Path, columns: Columns) -> None:
        super().__init__(path, columns)
        files = [(f"text {column}", _present(Path(f"{path}.{column}"))) for column in columns]
        self.files = [*files[:2], *((kind, text) for kind, text in files[2:] if text.is_file())]
        self._paths = [text for _, text in self.files]

    def split(self) -> RawSplit:
        return replace(super().split(), sides=(f"{self._paths[0]}, line", f"{self._paths[1]}, line"))

    def missing(self) -> tuple[Path, ...]:
        """Returns the files of source and target that do not exist."""
        return tuple(path for path in self._paths[:2] if not path.is_file())

    def records(self) -> Records:
        rows = zip(*map(file_lines, self._paths), strict=True)
        try:
            for number, (source, target, *more) in enumerate(rows, start=1):
                yield f"{self._paths[0]}, line {number}", Example(source, target, "", tuple(more))
        except ValueError as error:
            raise UserError(self._emptiness()) from error

    def _emptiness(self) -> str:
        """Says which text has no lines, or which two have different numbers of them."""
        counts = {path: sum(1 for _ in file_lines(path)) for path in self._paths}
        first = self._paths[0]
        for path, count in counts.items():
            if count == 0:
                return f"{path} is empty: expected one sentence a line"
            if count != counts[first]:
                return (
                    f"{first} has {counts[first]:,} lines and {path} has {count:,}: line N of one must belong to line "
                    "N of the other"
                )
        return f"{first} and what is beside it changed while they were read: start again once they are whole"

    def columns(self) -> set[str]:
        beside = _names(self._paths[0].parent)
        start = f"{self._path.name}."
        names = (name.removeprefix(start) for name in beside if name.startswith(start))
        return {name.removesuffix(".gz").removesuffix(".zst") for name in names}


def _find(folder: Path, name: str, columns: Columns) -> TableFile:
    """Finds the files of a split: two texts if at least one exists, else a table, else the missing texts."""
    texts = ParallelText(folder / name, columns)
    if len(texts.missing()) == 2:
        for ending, kind in _KINDS.items():
            if (path := _present(folder / f"{name}{ending}")).is_file():
                return kind(path, columns)
    return texts


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not is_litter(path.name))


def _present(path: Path) -> Path:
    """Returns the path of the file or, where only that exists, of a compressed one."""
    if os.path.lexists(path) and not path.is_file():
        kind = "folder" if path.is_dir() else "pipe or device" if path.exists() else "link to nothing"
        raise UserError(f"{path} is a {kind}: expected a file, which can be read several times")
    named = [path, *(path.with_name(path.name + ending) for ending in COMPRESSED)]
    return next((candidate for candidate in named if candidate.is_file()), path)
