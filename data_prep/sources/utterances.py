"""Recordings with their transcripts in the layouts of Kaldi and of LibriSpeech."""

import functools
import math
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from data_prep.sources.base import RawSplit, Records, Source, reading
from data_prep.sources.folders import digest, files_below
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.errors import UserError
from mt.text_io import file_lines

_BLANKS = re.compile(r"[ \t]+")
_ENDINGS = (".flac", ".wav", ".ogg", ".opus", ".mp3")


def kaldi(config: DatasetConfig) -> Source:
    """Reads `wav.scp`: `recording path` on each line; `text`: `utterance words`; `segments`, where there is one:
    `utterance recording begin end`, in seconds; else the recordings are the utterances. (kaldi-asr.org, "Data
    preparation".)"""
    folders = _folders(config)

    def identity() -> str:
        paths = [folder / name for folder in folders.values() for name in ("wav.scp", "text", "segments")]
        return "kaldi " + digest((path.name, path) for path in paths if path.is_file())

    return Source(
        {split: _split(functools.partial(_kaldi_records, folder, config.media)) for split, folder in folders.items()},
        identity,
    )


def librispeech(config: DatasetConfig) -> Source:
    """Reads `<speaker>/<chapter>/<speaker>-<chapter>.trans.txt` with `utterance WORDS` on each line, and beside it the
    sound `<utterance>.flac` (Panayotov et al. 2015)."""
    folders = _folders(config)

    def identity() -> str:
        paths = [path for folder in folders.values() for path in _transcripts(folder)]
        return "librispeech " + digest((path.name, path) for path in paths)

    return Source(
        {split: _split(functools.partial(_libri_records, folder, config.media)) for split, folder in folders.items()},
        identity,
    )


def _folders(config: DatasetConfig) -> dict[str, Path]:
    """Returns the folder of each split. Raises UserError where there is none."""
    folders = {split: Path(config.folder or "", config.splits[split]) for split in config.uncut}
    for folder in folders.values():
        if not folder.is_dir():
            raise UserError(
                f"{folder} is no folder: set dataset.folder, and dataset.splits to the folders of train, dev and "
                "test; without dev and test, dataset.dev_size=100 dataset.test_size=100 cut them from train"
            )
    return folders


def _split(records: Callable[[], Records]) -> RawSplit:
    read = reading(lambda: (example for _, example in records()))
    return RawSplit(read, lambda: sum(1 for _ in records()), ("", ""), records=records)


def _kaldi_records(folder: Path, media: Path) -> Records:
    recordings = dict(_kaldi_recordings(folder / "wav.scp", media))
    path = folder / "segments"
    utterances = dict(_segments(path, recordings)) if path.is_file() else recordings
    for origin, name, words in _entries(folder / "text"):
        if name not in utterances:
            raise UserError(
                f"{origin} is of {name}, which {path if path.is_file() else folder / 'wav.scp'} lacks: add it "
                "there, or leave the line out"
            )
        yield origin, Example(utterances[name], words)


def _kaldi_recordings(path: Path, media: Path) -> Iterator[tuple[str, str]]:
    for origin, name, source in _entries(path):
        if source.endswith("|"):
            raise UserError(
                f"{origin} is a command ({source[:60]}), and none is run: write its sound to a file, and name that"
            )
        # Paths are absolute, or relative to where Kaldi was run, which the media folder stands for.
        yield name, os.path.relpath(source, media) if os.path.isabs(source) else source


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
