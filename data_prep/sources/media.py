"""Sound and pictures: the sources of examples are files, which a table names beside their texts."""

import functools
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from data_prep.sources.base import RawSplit, Source, digest, from_lists, grouped
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.errors import UserError, nearest


def media_files(config: DatasetConfig, table: Source) -> Source:
    """Returns the examples of a table. The lines of one file become one example, with all their texts as references.

    Files lie inside one folder, so that a table from elsewhere cannot have others read; links that lie there are
    followed.

    Args:
        table: its `records` have the names of files, `file#t=1.5,3.2` for some seconds of one, and their texts.
    """
    if config.folder is None:
        raise UserError(
            f"the sources of {config.name} are {config.field.name}, in files that are not downloaded with the hub's "
            "tables: set dataset.folder to a copy"
        )
    folder = config.media

    # The table is read once, when a split or its files are first needed: names and texts, which are small.
    @functools.cache
    def examples() -> dict[str, list[Example]]:
        return {split: grouped(_checked(config, split, table.splits[split])) for split in config.uncut}

    @functools.cache
    def paths() -> dict[str, Path]:
        return {each.source: _path(folder, each.source) for of_split in examples().values() for each in of_split}

    # The identity covers the table and the files, so that a change in either is noticed.
    listed = from_lists(examples, folder, ("file", "text of file"), config.uncut)
    return Source(
        splits={split: replace(made, columns=table.splits[split].columns) for split, made in listed.items()},
        identity=lambda: f"{table.identity()} {digest(sorted(paths().items()))}",
        files=lambda: [*table.files(), *paths().values()],
        notes=table.notes,
    )


def _checked(config: DatasetConfig, split: str, files: RawSplit) -> Iterator[Example]:
    """Yields the examples of a table. Raises UserError where there are none, or one has no text, or names no file that
    may be read."""
    folder = config.media
    next(files.read())  # refuses a table without rows
    name = config.transcript
    # The names in JSON lines are in all of them, so that they are read only where they are asked for.
    columns = files.columns() if config.field.name == "audio" or name else ()
    # Manifests have parts of sounds, whose texts would all be taken for those of the whole sound.
    if config.field.name == "audio" and "offset" in columns:
        raise UserError(
            f"{next(files.records())[0]} has a column offset, but seconds are read from the path alone: write "
            "a.wav#t=1.5,3.2 there, as docs/layouts.md shows for manifests"
        )
    if name and name not in columns and split == "train":
        raise UserError(f"train has no column {name}: {nearest(name, columns)}; set dataset.transcript")
    for place, example in files.records():
        # Tables read the transcript as the last further reference.
        if name and name in columns:
            *references, transcript = example.more_references
            example = example._replace(more_references=tuple(references), transcript=transcript)
        # Dev and test need a text for each file.
        source = example.source.strip()
        if split != "train" and not example.target.strip():
            raise UserError(
                f"{place} has no text, and dev and test are scored line by line: fill it in, or leave the line out"
            )
        # The file lies inside the folder, and exists.
        inside = Path(os.path.relpath(folder / source, folder))
        if not source or inside.parts[:1] in ((), ("..",)):
            raise UserError(
                f"{place} names {source or 'no file'!r}, which is not inside {folder}: give paths relative "
                "to that folder, or set dataset.media_folder to the one that holds all files"
            )
        path = _path(folder, str(inside))
        if not os.path.isfile(path):
            raise UserError(
                f"{place} names {source!r}, but there is no file {path}: correct the path, leave the line out, or "
                "set dataset.media_folder, which paths are relative to"
            )
        yield example._replace(source=inside.as_posix())


def _path(folder: Path, source: str) -> Path:
    """Returns the file of a source, without the seconds of it that are named."""
    return folder / source.partition("#t=")[0]
