"""Sound and pictures: examples whose sources are files that a table or a list of utterances names."""

import functools
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from data_prep.sources.base import Source
from data_prep.sources.digest import digest
from data_prep.sources.embedded import ROW, files_in_cells
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.errors import UserError, nearest


class Listing(Protocol):
    """What names the files of each split, and their texts."""

    def identity(self) -> str:
        """Changes when the listing changes."""

    def located(self, split: str) -> Iterator[tuple[str, Example]]:
        """Each example with the place that says it: `train.tsv, line 3`. Its source is a path, `file#t=1.5,3.2` for
        these seconds of it."""

    def columns(self, split: str) -> Collection[str]:
        """As of `Source`."""

    def embedded(self, split: str) -> str | None:
        """What its sources call the split's table, where cells of it are the sounds or pictures themselves."""

    def notes(self) -> list[str]:
        """As of `Source`."""


class MediaFiles(Source):
    """The examples of a listing, with those of one file together: one example, with all its texts as references.

    Files lie inside one folder, so that a listing from elsewhere cannot have others read; links that lie there are
    followed.
    """

    def __init__(self, config: DatasetConfig, listing: Listing) -> None:
        self._listing = listing
        self._folder = config.media
        self._remote = config.folder is None
        self._splits = config.given
        self._transcript = config.transcript
        self._column = config.source
        self._tables = Path(config.folder or "")

    def identity(self) -> str:
        sources = (example.source for split in self._splits for example in self._read[split])
        rows = {source: ROW.fullmatch(source) for source in sources}
        paths = {source: self._path(source) for source, row in rows.items() if row is None}
        paths |= self._embedded({row["table"] for row in rows.values() if row is not None})
        return f"{self._listing.identity()} {digest(sorted(paths.items()))}"

    def _embedded(self, tables: Collection[str]) -> dict[str, Path]:
        """The files that cells of tables name."""
        paths = {}
        for name in tables:
            for path in files_in_cells(self._tables / name, self._column, self._folder):
                paths[f"{name} {path.relative_to(self._folder)}"] = path
        return paths

    def size(self, split: str) -> int:
        return len(self._read[split])

    def examples(self, split: str) -> Iterator[Example]:
        return iter(self._read[split])

    def columns(self, split: str) -> Collection[str]:
        return self._listing.columns(split)

    def places(self, split: str) -> tuple[str, str]:
        return f"{self._folder}, {split}, file", f"{self._folder}, {split}, text of file"

    def notes(self) -> list[str]:
        return self._listing.notes()

    @functools.cached_property
    def _read(self) -> dict[str, list[Example]]:
        """Names and texts alone, which are small beside what they name."""
        found = {split: _together(self._checked(split)) for split in self._splits}
        for split, examples in found.items():
            if not examples:
                raise UserError(f"{self._folder} has no examples for {split}: expected files with their texts")
        return found

    def _checked(self, split: str) -> Iterator[Example]:
        for where, example in self._spoken(split):
            source = example.source.strip()
            if split != "train" and not example.target.strip():
                raise UserError(
                    f"{where} has no text, and dev and test are scored line by line: fill it in, or leave the line out"
                )
            if self._listing.embedded(split) is not None:
                yield example  # of the table's own cells, whose names it makes itself
                continue
            if ROW.fullmatch(source):
                raise UserError(
                    f"{where} names {source!r}, a row of a table, and only cells of a split's own table are read as "
                    "sounds or pictures: name files, or give that table as the split, with their column as "
                    "dataset.source"
                )
            if self._remote:
                raise UserError(
                    f"{where} names {source!r}, and what the hub's tables name is not downloaded: set "
                    "dataset.source to a column that holds sounds or pictures themselves, or dataset.folder to a copy"
                )
            inside = os.path.relpath(self._folder / source, self._folder)
            if not source or inside.split(os.sep)[0] in ("..", "."):
                raise UserError(
                    f"{where} names {source or 'no file'!r}, which is not inside {self._folder}: give paths relative "
                    "to that folder, or set dataset.media_folder to the one that holds all files"
                )
            path = self._path(inside)
            if not os.path.isfile(path):
                raise UserError(
                    f"{where} names {source!r}, but there is no file {path}: correct the path, leave the line out, or "
                    "set dataset.media_folder to the folder that paths are relative to"
                )
            yield example._replace(source=Path(inside).as_posix())

    def _spoken(self, split: str) -> Iterator[tuple[str, Example]]:
        """The examples with their transcripts, which tables read as a further reference, the last."""
        transcribed = bool(self._transcript) and self._transcript in (known := self._listing.columns(split))
        if self._transcript and not transcribed and split == "train":
            raise UserError(
                f"train has no column {self._transcript}: {nearest(self._transcript, known)}; set dataset.transcript"
            )
        for where, example in self._listing.located(split):
            if transcribed:
                *more, said = example.more_references
                example = example._replace(more_references=tuple(more), transcript=said)
            yield where, example

    def _path(self, source: str) -> Path:
        return self._folder / source.partition("#t=")[0]


class Spread(Source):
    """Another source, with each reference of a training example as a pair of its own, one after another."""

    def __init__(self, whole: Source) -> None:
        self._whole = whole

    def identity(self) -> str:
        return self._whole.identity()

    def size(self, split: str) -> int:
        return sum(1 for _ in self.examples(split))

    def examples(self, split: str) -> Iterator[Example]:
        for example in self._whole.examples(split):
            if split == "train":
                yield example._replace(more_references=())
                further = example._replace(links="", more_references=())
                yield from (further._replace(target=text) for text in example.more_references)
            else:
                yield example

    def columns(self, split: str) -> Collection[str]:
        return self._whole.columns(split)

    def places(self, split: str) -> tuple[str, str]:
        return self._whole.places(split)

    def notes(self) -> list[str]:
        return self._whole.notes()


def _together(examples: Iterable[Example]) -> list[Example]:
    """Those of one source as one, in the order of the first of each."""
    found: dict[str, Example] = {}
    for example in examples:
        first = found.setdefault(example.source, example)
        if first is not example:
            more = (*first.more_references, example.target, *example.more_references)
            found[example.source] = first._replace(more_references=more)
    return [*found.values()]
