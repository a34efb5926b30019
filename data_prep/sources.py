"""Where raw pairs come from: text files, tables of the Hugging Face hub (or a local copy), generators."""

import functools
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

import datasets

from data_prep import phrasebook
from mt.data.corpus import SPLITS, Example
from mt.data.dataset import DatasetConfig, HubConfig
from mt.errors import UserError, nearest

_TABLES = (".parquet", ".jsonl", ".json", ".csv", ".arrow")  # of a local copy of a hub repository


class Source(Protocol):
    """Raw pairs in three splits, `train`, `dev` and `test`, that can be read any number of times."""

    def identity(self) -> str:
        """Changes when the raw text changes."""

    def size(self, split: str) -> int:
        """The number of pairs."""

    def examples(self, split: str) -> Iterator[Example]:
        """The pairs in order."""

    def places(self, split: str) -> tuple[str, str]:
        """What to call a line of either side in an error, up to its number (from 1)."""


def open_source(config: DatasetConfig) -> Source:
    """The source of a dataset: its folder where it has one, else the hub, else the generator.

    Raises:
        UserError: the folder does not hold the files of the dataset.
    """
    if config.generator is not None:
        return GeneratedText()
    if config.folder is None:
        return Table(config, None)
    folder = Path(config.folder)
    if config.hub is not None and _holds_tables(folder, config):
        return Table(config, folder)
    return TextFiles(config, folder)


class TextFiles:
    """`<split>.<language>` files: UTF-8, one sentence a line, line N of one belongs to line N of the other."""

    def __init__(self, config: DatasetConfig, folder: Path) -> None:
        self._paths = {
            split: tuple(folder / f"{config.splits[split]}.{side}" for side in (config.source, config.target))
            for split in SPLITS
        }
        missing = [path.name for paths in self._paths.values() for path in paths if not path.is_file()]
        if missing:
            present = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else None
            there = "no such folder" if present is None else f"there is: {', '.join(present[:20]) or 'nothing'}"
            raise UserError(
                f"{folder} lacks {', '.join(missing)} ({there}): set dataset.folder, dataset.source, dataset.target "
                "and dataset.splits so that <split>.<language> names the files"
            )

    def identity(self) -> str:
        return _digest(path for paths in self._paths.values() for path in paths)

    def size(self, split: str) -> int:
        source, target = self._paths[split]
        counts = [_count_lines(path) for path in (source, target)]
        for path, count in zip((source, target), counts, strict=True):
            if count == 0:
                raise UserError(f"{path} is empty: expected one sentence a line")
        if counts[0] != counts[1]:
            raise UserError(
                f"{source} has {counts[0]:,} lines and {target} has {counts[1]:,}: "
                "line N of one must be the translation of line N of the other"
            )
        return counts[0]

    def examples(self, split: str) -> Iterator[Example]:
        source, target = self._paths[split]
        return (Example(*pair) for pair in zip(_lines(source), _lines(target), strict=True))

    def places(self, split: str) -> tuple[str, str]:
        source, target = self._paths[split]
        return f"{source}, line", f"{target}, line"


class Table:
    """A dataset of the hub, or a local copy of its repository: the sides are columns, or keys of `translation`."""

    def __init__(self, config: DatasetConfig, folder: Path | None) -> None:
        self._hub = config.hub or HubConfig()
        self._folder = folder
        self._columns = (config.source, config.target)
        self._name = str(folder or self._hub.id)

    def identity(self) -> str:
        if self._folder is not None:
            return _digest(_table_files(self._folder))
        return f"{self._hub.id} {self._hub.config} {self._hub.revision}"

    def size(self, split: str) -> int:
        if not len(table := self._table(split)):
            raise UserError(f"{self._name} has no rows in its split {self._hub.splits[split]}: choose another split")
        return len(table)

    def examples(self, split: str) -> Iterator[Example]:
        table = self._table(split)
        nested = "translation" in table.column_names and not set(self._columns) <= set(table.column_names)
        known = list(table[0]["translation"]) if nested else table.column_names
        for column in self._columns:
            if column not in known:
                raise UserError(
                    f"{self._name} has no column {column} in its split {self._hub.splits[split]}: "
                    f"{nearest(column, known)}; set dataset.source and dataset.target"
                )
        places = self.places(split)
        for number, row in enumerate(table.select_columns(["translation"] if nested else list(self._columns)), start=1):
            cells = row["translation"] if nested else row
            source, target = (
                _text(cells[column], f"{place} {number}") for column, place in zip(self._columns, places, strict=True)
            )
            yield Example(source, target)

    def places(self, split: str) -> tuple[str, str]:
        source, target = (f"{self._name}, {self._hub.splits[split]}, column {column}, row" for column in self._columns)
        return source, target

    def _table(self, split: str) -> datasets.Dataset:
        name = self._hub.splits[split]
        if name not in self._tables:
            raise UserError(
                f"{self._name} has no split {name}: {nearest(name, self._tables)}; set dataset.hub.splits.{split}"
            )
        return self._tables[name]

    @functools.cached_property
    def _tables(self) -> datasets.DatasetDict:
        try:
            if self._folder is not None:
                return datasets.load_dataset(str(self._folder), self._hub.config)
            return datasets.load_dataset(self._hub.id, self._hub.config, revision=self._hub.revision)
        except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            if self._folder is not None:
                advice = "expected tables named by split, such as train.jsonl or data/train-00000-of-00001.parquet"
            else:
                advice = "where the hub cannot be reached, set dataset.folder=DIR to a local copy"
            raise UserError(f"{self._name} could not be loaded ({' '.join(str(error).split())}): {advice}") from error


class GeneratedText:
    """The sentences of `data_prep.phrasebook`, with gold word links."""

    def identity(self) -> str:
        return _digest(sorted(Path(phrasebook.__file__).parent.glob("*.py")))

    def size(self, split: str) -> int:
        return len(self._splits[split])

    def examples(self, split: str) -> Iterator[Example]:
        return (Example(*example) for example in self._splits[split])

    def places(self, split: str) -> tuple[str, str]:
        return f"phrasebook, {split}, source", f"phrasebook, {split}, target"

    @functools.cached_property
    def _splits(self) -> dict[str, list[phrasebook.Example]]:
        return phrasebook.generate()


def _holds_tables(folder: Path, config: DatasetConfig) -> bool:
    text = any((folder / f"{config.splits[split]}.{config.source}").is_file() for split in SPLITS)
    return not text and bool(_table_files(folder))


def _table_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in _TABLES)


def _digest(paths: Iterable[Path]) -> str:
    """SHA-256 of the contents."""
    total = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def _count_lines(path: Path) -> int:
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            count, last = count + block.count(b"\n"), block[-1:]
    return count + (last != b"\n")


def _lines(path: Path) -> Iterator[str]:
    """The lines, cut at line feeds alone: U+2028 and its like stand inside sentences. CRLF and a BOM are accepted."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{path}, line {number} is not valid UTF-8 (byte {error.start + 1} of the line): "
                    "convert the file, for instance with iconv"
                ) from error
            if "\0" in text:
                raise UserError(f"{path}, line {number} holds a NUL character: remove it, or convert the file to UTF-8")
            yield text.removesuffix("\n").removesuffix("\r")


def _text(value: object, place: str) -> str:
    """A cell as text; an empty cell is an empty text."""
    if value is None or isinstance(value, str):
        return value or ""
    raise UserError(f"{place} holds {type(value).__name__}, not text: set dataset.source and dataset.target")
