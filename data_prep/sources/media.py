"""Sound and pictures: examples whose sources are files that a table or a list of utterances names."""

import functools
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from data_prep.sources.base import RawSplit, Records, Source, from_list
from data_prep.sources.embedded import ROW, files_in_cells
from data_prep.sources.folders import digest
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.errors import UserError, nearest


def media_files(config: DatasetConfig, manifest: Source) -> Source:
    """Returns the examples of a manifest, with those of one file together: one example, with all its texts as
    references.

    Files lie inside one folder, so that a manifest from elsewhere cannot have others read; links that lie there are
    followed.

    Args:
        manifest: whose `records` name files, `file#t=1.5,3.2` for these seconds of one, and their texts.
    """
    folder = config.media

    @functools.cache
    def examples() -> dict[str, list[Example]]:
        """Reads names and texts alone, which are small beside what they name."""
        read = {split: _grouped(_checked(config, split, manifest.splits[split])) for split in config.uncut}
        for split, grouped in read.items():
            if not grouped:
                raise UserError(f"{folder} has no examples for {split}: expected files with their texts")
        return read

    def part(split: str) -> RawSplit:
        sides = f"{folder}, {split}, file", f"{folder}, {split}, text of file"
        return from_list(lambda: examples()[split], sides, manifest.splits[split].columns)

    def identity() -> str:
        sources = [example.source for split in config.uncut for example in examples()[split]]
        rows = {source: ROW.fullmatch(source) for source in sources}
        paths = {source: _path(folder, source) for source, row in rows.items() if row is None}
        paths |= _embedded(config, {row["table"] for row in rows.values() if row is not None})
        return f"{manifest.identity()} {digest(sorted(paths.items()))}"

    return Source({split: part(split) for split in config.uncut}, identity, manifest.notes)


def _embedded(config: DatasetConfig, tables: Collection[str]) -> dict[str, Path]:
    """Returns the files that cells of tables name."""
    paths = {}
    for name in tables:
        for path in files_in_cells(Path(config.folder or "", name), config.source, config.media):
            paths[f"{name} {path.relative_to(config.media)}"] = path
    return paths


def _checked(config: DatasetConfig, split: str, files: RawSplit) -> Iterator[Example]:
    """Yields the examples of a manifest. Raises UserError where one has no text, or names no file that may be read."""
    folder = config.media
    for origin, example in _transcribed(config, split, files):
        source = example.source.strip()
        if split != "train" and not example.target.strip():
            raise UserError(
                f"{origin} has no text, and dev and test are scored line by line: fill it in, or leave the line out"
            )
        if files.holds_media():
            yield example  # a cell of the table, which has made its name
            continue
        if ROW.fullmatch(source):
            raise UserError(
                f"{origin} names {source!r}, a row of a table, and only cells of a split's own table are read as "
                "sounds or pictures: name files, or give that table as the split, with their column as "
                "dataset.source"
            )
        if config.folder is None:
            raise UserError(
                f"{origin} names {source!r}, and what the hub's tables name is not downloaded: set "
                "dataset.source to a column that holds sounds or pictures themselves, or dataset.folder to a copy"
            )
        inside = os.path.relpath(folder / source, folder)
        if not source or inside.split(os.sep)[0] in ("..", "."):
            raise UserError(
                f"{origin} names {source or 'no file'!r}, which is not inside {folder}: give paths relative "
                "to that folder, or set dataset.media_folder to the one that holds all files"
            )
        path = _path(folder, inside)
        if not os.path.isfile(path):
            raise UserError(
                f"{origin} names {source!r}, but there is no file {path}: correct the path, leave the line out, or "
                "set dataset.media_folder to the folder that paths are relative to"
            )
        yield example._replace(source=Path(inside).as_posix())


def _transcribed(config: DatasetConfig, split: str, files: RawSplit) -> Records:
    """Yields the examples with their transcripts, which tables read as a further reference, the last."""
    name = config.transcript
    transcribed = bool(name) and name in (columns := files.columns())
    if name and not transcribed and split == "train":
        raise UserError(f"train has no column {name}: {nearest(name, columns)}; set dataset.transcript")
    for origin, example in files.records():
        if transcribed:
            *references, transcript = example.more_references
            example = example._replace(more_references=tuple(references), transcript=transcript)
        yield origin, example


def _path(folder: Path, source: str) -> Path:
    return folder / source.partition("#t=")[0]


def _grouped(examples: Iterable[Example]) -> list[Example]:
    """Makes those of one source one example, in the order of the first of each."""
    by_source: dict[str, Example] = {}
    for example in examples:
        first = by_source.setdefault(example.source, example)
        if first is not example:
            more = (*first.more_references, example.target, *example.more_references)
            by_source[example.source] = first._replace(more_references=more)
    return [*by_source.values()]
