"""Tables of the Hugging Face hub, or of a local copy of its repository.

The hub's library is loaded where it reads: it takes long, and most runs find their corpus prepared.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from data_prep.sources.base import RawSplit, Source, reading
from data_prep.sources.cells import BATCH, arrow_columns, arrow_examples, is_embedded
from data_prep.sources.embedded import files_in_cells, from_tables
from data_prep.sources.folders import digest, files_below
from data_prep.sources.tables import TABLES, require_shallow
from mt.common.terminal import say
from mt.data.corpus import SPLITS, Example
from mt.data.dataset import DatasetConfig, HubConfig
from mt.data.fields import Raw, build_field
from mt.errors import UserError, message_of, nearest

if TYPE_CHECKING:
    import datasets

_ENDINGS = (".parquet", ".jsonl", ".json", ".csv", ".tsv", ".arrow", ".jsonl.gz", ".json.gz", ".csv.gz", ".tsv.gz")
_COMMIT = re.compile("[0-9a-f]{40}")


def holds_tables(folder: Path) -> bool:
    """Returns whether a folder, or one inside it, has files that the hub's library reads."""
    return bool(_tables(folder))


class HubTable:
    """A repository of tables, read from the hub or from a folder in the same way."""

    def __init__(self, config: DatasetConfig, folder: Path | None) -> None:
        self._config = config
        self._hub = config.hub or HubConfig()
        self._folder = folder
        self._media = not build_field(config.field).written
        self._name = str(folder or self._hub.id)

    def source(self) -> Source:
        return Source({split: self._split(split) for split in self._config.uncut}, self._identity)

    def _identity(self) -> str:
        if self._folder is None:
            # What a branch stands for changes. Out of the hub's reach it is the commit in the library's cache.
            commit = self._hub.revision if _COMMIT.fullmatch(self._hub.revision) else self._unread.hash
            return f"{self._hub.id} {self._hub.config} {commit}"
        folder = Path(self._folder, self._subsets()[0] or "")
        files = _tables(folder)
        if self._media:
            cells = {path for table in files for path in files_in_cells(table, self._config.source, self._folder)}
            files += sorted(cells)
        card = self._folder / "README.md"
        if _names_files(card):
            files.append(card)
        return digest((os.path.relpath(path, folder), path) for path in files)

    def _split(self, split: str) -> RawSplit:
        columns = self._config.columns(split)
        where = f"{self._name}, {self._hub.splits[split]}"

        def examples() -> Iterator[Example]:
            table = self._table(split)
            return arrow_examples(
                _schema(table),
                lambda names: table.select_columns(names).with_format("arrow").iter(BATCH),
                columns,
                where,
                split if self._media else None,
            )

        return RawSplit(
            read=reading(examples),
            size=lambda: self._size(split),
            sides=(f"{where}, column {columns[0]}, row", f"{where}, column {columns[1]}, row"),
            columns=lambda: arrow_columns(_schema(self._table(split)), columns)[0],
            records=lambda: ((f"{where}, row {number}", pair) for number, pair in enumerate(examples(), start=1)),
            holds_media=functools.cache(lambda: self._media and is_embedded(_schema(self._table(split)), columns)),
        )

    def _size(self, split: str) -> int:
        if self._config.streaming:
            known = self._builder.info.splits or {}
            return known[name].num_examples if (name := self._hub.splits[split]) in known else 0
        return len(self._table(split))

    def opener(self, splits: Collection[str]) -> Callable[[str], Raw]:
        """Returns what reads the sounds or pictures of the splits; it can be sent to other processes."""
        import datasets

        column = self._config.source
        tables = {split: self._table(split).select_columns([column]) for split in splits}
        root = self._folder or Path(datasets.config.HF_CACHE_HOME)
        return functools.partial(from_tables, tables, column, root)

    def _table(self, split: str) -> datasets.Dataset | datasets.IterableDataset:
        builder = self._builder
        name = self._hub.splits[split]
        known = list(builder.info.splits or ())
        if known and (whole := name.partition("[")[0]) not in known:
            otherwise = "" if split == "train" else f", or cut it from train with dataset.{split}_size=1000"
            raise UserError(
                f"{self._name} has no split {whole}: {nearest(whole, known)}; set dataset.hub.splits.{split}{otherwise}"
            )
        try:
            return (
                builder.as_streaming_dataset(split=name) if self._config.streaming else builder.as_dataset(split=name)
            )
        except (ValueError, AssertionError) as error:
            raise UserError(
                f"{self._name} has no rows in its split {name} ({error}): set dataset.hub.splits.{split} to another, "
                "or to part of one, such as train[:-1000] or train[-1000:]"
            ) from error

    @functools.cached_property
    def _builder(self) -> datasets.DatasetBuilder:
        """Reads the tables; they are on this machine, unless they are streamed."""
        builder = self._unread
        if not self._config.streaming:
            with self._refused(builder.config.data_dir):
                builder.download_and_prepare()
        return builder

    @functools.cached_property
    def _unread(self) -> datasets.DatasetBuilder:
        """Returns the builder of the first subset that has tables, none of which is read yet."""
        import datasets
        from datasets.data_files import EmptyDatasetError

        subsets = self._subsets()
        if self._folder is None:
            say(f"asking the Hugging Face hub for {self._hub.id}; dataset.folder=DIR reads a copy", sys.stderr)
        failures = []
        for subset in subsets:
            try:
                with self._refused(subset), contextlib.suppress(EmptyDatasetError):
                    if self._folder is not None:
                        for path in _tables(self._folder / (subset or "")):
                            if ".json" in path.name:
                                require_shallow(path)
                        return datasets.load_dataset_builder(str(self._folder), data_dir=subset)
                    return datasets.load_dataset_builder(self._hub.id, data_dir=subset, revision=self._hub.revision)
            except UserError as failure:
                failures.append(failure)  # the other one may be in the cache
        if failures:
            raise failures[0]
        folders = " or ".join(filter(None, subsets))
        raise UserError(
            f"{self._name} has no tables{' in ' if folders else ''}{folders}: set dataset.source and dataset.target "
            "to a pair of languages that it has, or dataset.hub.config to a folder of it"
        )

    @contextlib.contextmanager
    def _refused(self, subset: str | None) -> Iterator[None]:
        """Makes a sentence of what the hub's library raises, and silences its logs of every failed attempt."""
        from datasets.exceptions import DatasetsError

        level = logging.root.manager.disable
        logging.disable(logging.ERROR)
        try:
            yield
        except (OSError, ValueError, RuntimeError, DatasetsError) as error:
            if self._folder is not None:
                self._refuse_bad_files(subset)
                advice = "expected tables named by split, such as train.jsonl or data/train-00000-of-00001.parquet"
            else:
                advice = f"where the hub cannot be reached, set dataset.folder=DIR to a local copy, {self._expected()}"
            # The cause says more: `datasets` wraps it in "an error occurred".
            reason = message_of(error.__cause__ or error)
            raise UserError(f"{self._name} could not be loaded ({reason}): {advice}") from error
        finally:
            logging.disable(level)

    def _refuse_bad_files(self, subset: str | None) -> None:
        """Raises UserError with file and line where a local table cannot be read: `datasets` does not say which."""
        for path in _tables(Path(self._folder or "", subset or "")):
            if kind := TABLES.get(Path(path.name.removesuffix(".gz")).suffix):
                for _ in kind(path, (self._config.source, self._config.target)).read():
                    pass

    def _expected(self) -> str:
        """Names the files of a copy."""
        subset = self._subsets()[0]
        sides = self._config.source, self._config.target
        inside = f"DIR/{subset}" if subset else "DIR"
        names = dict.fromkeys(self._hub.splits[split].partition("[")[0] for split in SPLITS)
        tables = ", ".join(f"{inside}/{name}.parquet" for name in names if name)
        expected = f"which holds {tables} (or .jsonl, .csv) with columns {' and '.join(sides)}"
        if self._media:
            return expected
        texts = [f"DIR/{name}.{side}" for split in SPLITS if (name := self._config.splits[split]) for side in sides]
        return f"{expected}, or the texts {', '.join(texts)}"

    def _subsets(self) -> list[str | None]:
        """Returns the folders of the repository that may hold the pair of languages, in either order; None: all of
        it."""
        if self._hub.config is None:
            return [None]
        source = self._config.source
        target = self._config.target
        pairs = ((source, target), (target, source))
        names = dict.fromkeys(
            self._hub.config.replace("{source}", first).replace("{target}", second) for first, second in pairs
        )
        if self._folder is None:
            return [*names]
        # A copy of that folder alone will do, too.
        return [name for name in names if (self._folder / name).is_dir()] or [None]


def _schema(table: datasets.Dataset | datasets.IterableDataset) -> pa.Schema:
    if features := table.features:
        return features.arrow_schema
    # A stream tells its columns with its first row, where the repository has no record of them.
    return next(iter(table.with_format("arrow").iter(1))).schema


def _names_files(card: Path) -> bool:
    """Returns whether the card of a repository says, in its YAML, which of the files make which split."""
    if not card.is_file():
        return False
    text = card.read_text(encoding="utf-8", errors="replace")
    return text.startswith("---") and "data_files:" in text.partition("\n---")[0]


def _tables(folder: Path) -> list[Path]:
    return [path for path in files_below(folder) if path.name.endswith(_ENDINGS)]
