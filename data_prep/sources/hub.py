"""Tables of a repository of the Hugging Face hub, or of a local copy of one.

A repository is a folder of tables. The tables of the pair are first downloaded into the cache of `huggingface_hub`, in
which the files of a commit never change. Then a repository and a copy are read alike, by the readers of local tables.
They take texts as they stand: `null`, `007` and quotation marks are text. `data_prep.sources.splits` says which files
are which split.
"""

import contextlib
import functools
import itertools
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar

from data_prep.sources.base import RawSplit, Records, Source, digest, files_below, require_some
from data_prep.sources.splits import (
    base_name,
    complete,
    is_inside,
    named_files,
    pair_names,
    table_kind,
)
from data_prep.sources.tables import TABLES, ParquetFile, TableFile
from mt.common.terminal import say
from mt.data.corpus import SPLITS, Example
from mt.data.dataset import DatasetConfig, HubConfig
from mt.data.fields import build_field
from mt.errors import UserError, message_of, nearest
from mt.text_io import COMPRESSED

_COMMIT = re.compile("[0-9a-f]{40}")
_USUAL = ("train", "validation", "test")
"""What repositories mostly call their splits."""

T = TypeVar("T")


def holds_tables(folder: Path) -> bool:
    """Returns whether a folder, or one inside it, has tables."""
    return bool(_tables(folder))


class Repository:
    """A repository of tables on the hub, or a copy of it in a folder."""

    def __init__(self, config: DatasetConfig, folder: Path | None) -> None:
        self._config = config
        self._hub = config.hub or HubConfig()
        self._copy = folder
        self._media = not build_field(config.field).written
        self._name = str(folder or self._hub.id)

    def source(self) -> Source:
        return Source({split: self._split(split) for split in self._config.uncut}, self._identity, self._read_paths)

    @functools.cached_property
    def folder(self) -> Path:
        """The folder of the repository on this machine; what is not here yet is downloaded."""
        return self._copy or self._downloaded()

    def _identity(self) -> str:
        if self._copy is None:
            # A branch moves. Out of the hub's reach it is the commit in the cache.
            commit = self._hub.revision if _COMMIT.fullmatch(self._hub.revision) else self.folder.name
            return f"{self._hub.id} {self._hub.config} {commit}"
        return digest(self._named)

    @functools.cached_property
    def _named(self) -> list[tuple[str, Path]]:
        """What each file of a copy is read as."""
        files = {split: self._paths(split) for split in self._config.uncut}
        return [(f"{split} {self._hub.splits[split]}", path) for split, paths in files.items() for path in paths]

    def _read_paths(self) -> list[Path]:
        """Returns the files of a copy; those of the hub's cache are never changed."""
        return [] if self._copy is None else [path for _, path in self._named]

    def _split(self, split: str) -> RawSplit:
        """Returns the pairs of the files of a split, or of the part of them that its name asks for."""
        columns = self._config.columns(split)
        where = f"{self._name}, {self._hub.splits[split]}"
        files = functools.cache(lambda: self._files(split))

        def read() -> Iterator[Example]:
            pairs = self._part(split, files(), (file.pairs() for file in files()))
            return require_some(pairs, lambda: self._no_rows(split, "its files are empty"))

        def records() -> Records:
            return self._part(split, files(), (file.records() for file in files()))

        return RawSplit(
            read=read,
            sides=(f"{where}, column {columns[0]}, row", f"{where}, column {columns[1]}, row"),
            columns=lambda: files()[0].columns(),
            records=records,
            holds_media=functools.cache(lambda: files()[0].holds_media()),
        )

    def _files(self, split: str) -> list[TableFile]:
        """Returns the readers of a split's files."""
        columns = self._config.columns(split)
        return [_table(path, columns, self.folder if self._media else None) for path in self._paths(split)]

    def _paths(self, split: str) -> list[Path]:
        names = [path.relative_to(self.folder).as_posix() for path in _tables(self.folder)]
        return [self.folder / name for name in self._names_of(split, names)]

    def _names_of(self, split: str, names: Sequence[str]) -> list[str]:
        """Returns the files of a split among these. Raises UserError where there are none, or where several may be."""
        whole, _, range_of_rows = self._hub.splits[split].partition("[")
        given = () if range_of_rows else (self._config.splits[split],)
        subset = self._subset_of(names)
        inside = [name for name in names if is_inside(name, subset)]
        # Both options may name a file; the hub's own words for splits are what repositories have by default.
        for own in given:
            if own != whole and whole not in (*_USUAL, *SPLITS) and (found := named_files(inside, own)):
                raise UserError(
                    f"{self._name}: dataset.hub.splits.{split} names {whole}, and dataset.splits.{split} names "
                    f"{own}, which is there ({found[0][0]}): set dataset.splits.{split}={whole} for the one, or "
                    f"dataset.hub.splits.{split}={own} for the other"
                )
        for name in (*given, whole):
            files = named_files(inside, name)
            if len(files) > 1:
                raise UserError(self._ambiguity(split, whole, files))
            if files:
                return complete(files[0], self._name)
        known = {base_name(name) or PurePosixPath(name).parent.name for name in inside}
        otherwise = "" if split == "train" else f", or cut it from train with dataset.{split}_size=1000"
        raise UserError(
            f"{self._name} has no split {whole}: {nearest(whole, known)}; set dataset.hub.splits.{split} to a name or "
            f"a pattern of files{otherwise}"
        )

    def _ambiguity(self, split: str, whole: str, files: Sequence[Sequence[str]]) -> str:
        one_file = files[0][0]
        other_file = files[1][0]
        named = base_name(one_file)
        advice = (
            f"dataset.splits.{split}={named}"
            if named != base_name(other_file)
            else "dataset.hub.config to the folder of one, or keep one of them"
        )
        return (
            f"{self._name} has several files that may be its split {whole} ({one_file} and {other_file}): set {advice}"
        )

    def _range(self, split: str, files: Sequence[TableFile]) -> tuple[int, int]:
        """Returns the first row of a part of a split in its files, and the row after its last. Raises UserError where
        the part has no rows."""
        from datasets import ReadInstruction  # Not above: it takes seconds, and few splits are parts of others.

        rows = sum(file.count() for file in files)
        name = self._hub.splits[split]
        try:
            (interval,) = ReadInstruction.from_spec(name).to_absolute({name.partition("[")[0]: rows})
        except (ValueError, AssertionError) as error:
            raise UserError(self._no_rows(split, message_of(error))) from error
        if interval.from_ >= interval.to:
            raise UserError(self._no_rows(split, f"of {rows} rows none is in it" if rows else "its files are empty"))
        return interval.from_, interval.to

    def _no_rows(self, split: str, reason: str) -> str:
        return (
            f"{self._name} has no rows in its split {self._hub.splits[split]} ({reason}): set "
            f"dataset.hub.splits.{split} to another, or to part of one, such as train[:-1000] or train[-1000:]"
        )

    def _part(self, split: str, files: Sequence[TableFile], parts: Iterator[Iterator[T]]) -> Iterator[T]:
        everything = itertools.chain.from_iterable(parts)
        if "[" not in self._hub.splits[split]:
            return everything
        return itertools.islice(everything, *self._range(split, files))

    def _downloaded(self) -> Path:
        """Downloads the tables of the first subset that has any; out of the hub's reach the cache may have them."""
        from huggingface_hub import snapshot_download

        say(f"asking the Hugging Face hub for {self._hub.id}; dataset.folder=DIR reads a copy", sys.stderr)
        # Subsets are tried in turn, since a pair of languages may be named in either order.
        subsets = self._subsets() or [""]
        endings = [f"*{ending}{more}" for ending in TABLES for more in ("", *COMPRESSED)]
        for subset in subsets:
            patterns = [f"{subset}/{ending}" if subset else ending for ending in endings]
            # Only tables are downloaded, since repositories can hold much else.
            with self._refused():
                folder = Path(
                    snapshot_download(
                        self._hub.id,
                        repo_type="dataset",
                        revision=self._hub.revision,
                        allow_patterns=patterns,
                    )
                )
            if _tables(folder / subset):
                return folder
        raise UserError(self._emptiness(subsets))

    def _emptiness(self, subsets: Collection[str]) -> str:
        folders = " or ".join(filter(None, subsets))
        return (
            f"{self._name} has no tables{' in ' if folders else ''}{folders}: set dataset.source and dataset.target "
            "to a pair of languages that it has, or dataset.hub.config to a folder of it"
        )

    @contextlib.contextmanager
    def _refused(self) -> Iterator[None]:
        """Makes a sentence of what the hub's library raises."""
        try:
            yield
        except Exception as error:
            # Of whichever library carries the requests, which changes from release to release.
            raise UserError(
                f"{self._name} could not be loaded ({message_of(error)}): where the hub cannot be reached, set "
                f"dataset.folder=DIR to a local copy, {self._expected()}"
            ) from error

    def _expected(self) -> str:
        """Names the files of a copy."""
        subset = next(iter(self._subsets()), "")
        sides = self._config.source, self._config.target
        inside = f"DIR/{subset}" if subset else "DIR"
        names = dict.fromkeys(self._hub.splits[split].partition("[")[0] for split in SPLITS)
        tables = ", ".join(f"{inside}/{name}.parquet" for name in names if name)
        expected = f"which holds {tables} (or .jsonl, .csv) with columns {' and '.join(sides)}"
        if self._media:
            return expected
        texts = [f"DIR/{name}.{side}" for split in SPLITS if (name := self._config.splits[split]) for side in sides]
        return f"{expected}, or the texts {', '.join(texts)}"

    def _subsets(self) -> list[str]:
        """Returns the folders of the repository that may hold the pair of languages, in either order; none where all
        of it does."""
        return pair_names(self._hub.config, self._config.source, self._config.target)

    def _subset_of(self, names: Sequence[str]) -> str:
        """Returns the folder of the pair among tables. A copy of that folder alone will do, too."""
        return next((subset for subset in self._subsets() if any(is_inside(name, subset) for name in names)), "")


def _table(path: Path, columns: tuple[str, ...], root: Path | None) -> TableFile:
    """Returns the reader of a table. root: where rows of media are named from; None: there are none."""
    kind: Callable[[Path, tuple[str, ...]], TableFile] = TABLES[table_kind(path.name) or ""]
    if root is not None and kind is ParquetFile:
        return ParquetFile(path, columns, path.relative_to(root).as_posix())
    return kind(path, columns)


def _tables(folder: Path) -> list[Path]:
    return [path for path in files_below(folder) if table_kind(path.name)] if folder.is_dir() else []
