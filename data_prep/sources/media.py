"""Sound and pictures: examples whose sources are files that a table or a list of utterances names.

First the examples of any such list; then the lists of recordings with their transcripts in the layouts of Kaldi and of
LibriSpeech.
"""

import functools
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from data_prep.sources.base import RawSplit, Records, Source, digest, files_below, from_lists
from data_prep.sources.cells import ROW, files_in_cells, path_inside
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.errors import UserError, nearest
from mt.text_io import file_lines

_BLANKS = re.compile(r"[ \t]+")
_ENDINGS = (".flac", ".wav", ".ogg", ".opus", ".mp3")


def media_files(config: DatasetConfig, manifest: Source) -> Source:
    """Returns the examples of a manifest, with those of one file together: one example, with all its texts as
    references.

    Files lie inside one folder, so that a manifest from elsewhere cannot have others read; links that lie there are
    followed.

    Args:
        manifest: whose `records` name files, `file#t=1.5,3.2` for these seconds of one, and their texts.
    """
    folder = config.media

    # The manifest is read once, when a split or its files are first needed.
    @functools.cache
    def examples() -> dict[str, list[Example]]:
        """Reads names and texts alone, which are small beside what they name."""
        read = {split: _grouped(_checked(config, split, manifest.splits[split])) for split in config.uncut}
        for split, grouped in read.items():
            if not grouped:
                raise UserError(f"{folder} has no examples for {split}: expected files with their texts")
        return read

    listed = from_lists(examples, folder, ("file", "text of file"), config.uncut)

    # Sounds and pictures are files of their own or cells of tables: both belong to the identity of the data.
    @functools.cache
    def paths() -> dict[str, Path]:
        """Returns what the examples are read from."""
        sources = [example.source for split in config.uncut for example in examples()[split]]
        rows = {source: ROW.fullmatch(source) for source in sources}
        tables = {row["table"] for row in rows.values() if row is not None}
        files = {source: _path(folder, source) for source, row in rows.items() if row is None}
        return files | _embedded(config, tables)

    # Manifest and files make the identity together, so that a change in either is noticed.
    return Source(
        splits={split: replace(made, columns=manifest.splits[split].columns) for split, made in listed.items()},
        identity=lambda: f"{manifest.identity()} {digest(sorted(paths().items()))}",
        files=lambda: [*manifest.files(), *paths().values()],
        notes=manifest.notes,
    )


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
                "sounds or pictures. Name files, or give that table as the split, with their column as dataset.source"
            )
        if config.folder is None:
            raise UserError(
                f"{origin} names {source!r}, which is not downloaded with the hub's tables: set dataset.source to a "
                "column of sounds or pictures, or dataset.folder to a copy"
            )
        inside = path_inside(folder, source)
        if not source or inside is None:
            raise UserError(
                f"{origin} names {source or 'no file'!r}, which is not inside {folder}: give paths relative "
                "to that folder, or set dataset.media_folder to the one that holds all files"
            )
        path = _path(folder, inside)
        if not os.path.isfile(path):
            raise UserError(
                f"{origin} names {source!r}, but there is no file {path}: correct the path, leave the line out, or "
                "set dataset.media_folder, which paths are relative to"
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
        known = by_source.setdefault(example.source, example)
        if known is not example:
            more = (*known.more_references, example.target, *example.more_references)
            by_source[example.source] = known._replace(more_references=more)
    return [*by_source.values()]


# Recordings with their transcripts in the layouts of Kaldi and of LibriSpeech.


def kaldi(config: DatasetConfig) -> Source:
    """Reads `wav.scp`: `recording path` on each line; `text`: `utterance words`; `segments`, where there is one:
    `utterance recording begin end`, in seconds; else the recordings are the utterances. (kaldi-asr.org, "Data
    preparation".)"""
    names = ("wav.scp", "text", "segments")
    return _utterances(config, "kaldi", _kaldi_records, lambda folder: [folder / name for name in names])


def librispeech(config: DatasetConfig) -> Source:
    """Reads `<speaker>/<chapter>/<speaker>-<chapter>.trans.txt` with `utterance WORDS` on each line, and beside it the
    sound `<utterance>.flac` (Panayotov et al. 2015)."""
    return _utterances(config, "librispeech", _libri_records, _transcripts)


def _utterances(
    config: DatasetConfig,
    layout: str,
    records: Callable[[Path, Path], Records],
    lists: Callable[[Path], Iterable[Path]],
) -> Source:
    """Returns the source of a layout. records: reads a folder, for paths that are relative to another. lists: names
    what is read. Raises UserError where a split has no folder."""
    folders = {split: Path(config.folder or "", config.splits[split]) for split in config.uncut}
    for folder in folders.values():
        if not folder.is_dir():
            raise UserError(
                f"{folder} is no folder: set dataset.folder, and dataset.splits to the folders of train, dev and "
                "test. Without dev and test, dataset.dev_size=100 dataset.test_size=100 cut them from train"
            )

    def files() -> list[Path]:
        return [path for folder in folders.values() for path in lists(folder) if path.is_file()]

    def split(folder: Path) -> RawSplit:
        read = functools.partial(records, folder, config.media)
        return RawSplit(lambda: (example for _, example in read()), ("", ""), records=read)

    splits = {name: split(folder) for name, folder in folders.items()}
    return Source(splits, lambda: f"{layout} {digest((path.name, path) for path in files())}", files)


def _kaldi_records(folder: Path, media: Path) -> Records:
    recordings = dict(_kaldi_recordings(folder / "wav.scp"))
    path = folder / "segments"
    utterances = dict(_segments(path, recordings)) if path.is_file() else recordings
    for origin, name, words in _entries(folder / "text"):
        if name not in utterances:
            raise UserError(
                f"{origin} is of {name}, which {path if path.is_file() else folder / 'wav.scp'} lacks: add it "
                "there, or leave the line out"
            )
        yield origin, Example(utterances[name], words)


def _kaldi_recordings(path: Path) -> Iterator[tuple[str, str]]:
    for origin, name, source in _entries(path):
        if source.endswith("|"):
            raise UserError(
                f"{origin} is a command ({source[:60]}), and none is run: write its sound to a file, and name that"
            )
        # Paths are absolute, or relative to where Kaldi was run, which the media folder stands for.
        yield name, source


def _libri_records(folder: Path, media: Path) -> Records:
    for transcripts in _transcripts(folder):
        for origin, name, words in _entries(transcripts):
            sounds = [transcripts.parent / f"{name}{ending}" for ending in _ENDINGS]
            sound = next((path for path in sounds if path.is_file()), sounds[0])
            yield origin, Example(os.path.relpath(sound, media), words)


def _transcripts(folder: Path) -> list[Path]:
    return files_below(folder, "*.trans.txt")


def _segments(path: Path, recordings: dict[str, str]) -> Iterator[tuple[str, str]]:
    for origin, name, rest in _entries(path):
        fields = rest.split()
        try:
            recording, begin, end = fields
            if not 0 <= float(begin) < float(end) < math.inf:
                raise ValueError
        except ValueError:
            raise UserError(
                f"{origin} is not `utterance recording begin end` with begin before end: {rest[:60]!r}"
            ) from None
        if recording not in recordings:
            raise UserError(
                f"{origin} is of recording {recording}, which {path.with_name('wav.scp')} lacks: add it there"
            )
        yield name, f"{recordings[recording]}#t={_seconds(begin)},{_seconds(end)}"


def _seconds(number: str) -> str:
    """Writes a number without an exponent, which spans do not have."""
    return np.format_float_positional(float(number), trim="0")


def _entries(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yields the origin, the first word and the rest of each line that is not blank; the first word names one line
    alone."""
    if not path.is_file():
        raise UserError(f"{path} is missing: set dataset.folder and dataset.splits to the folders that have one")
    seen: dict[str, int] = {}
    for number, line in enumerate(file_lines(path), start=1):
        name, *rest = _BLANKS.split(line.strip(), maxsplit=1)
        if not name:
            continue
        if name in seen:
            raise UserError(f"{path}, line {number} is of {name}, as line {seen[name]} is: leave one out")
        seen[name] = number
        yield f"{path}, line {number}", name, "".join(rest)
