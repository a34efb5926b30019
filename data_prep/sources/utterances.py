"""Recordings with their transcripts in the layouts of Kaldi and of LibriSpeech."""

import math
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from data_prep.sources.digest import digest
from data_prep.sources.litter import files_below
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.errors import UserError
from mt.text_io import file_lines

_BLANKS = re.compile(r"[ \t]+")
_ENDINGS = (".flac", ".wav", ".ogg", ".opus", ".mp3")


class Utterances:
    """What the two layouts have in common: a folder for each split, and no columns."""

    def __init__(self, config: DatasetConfig) -> None:
        self._media = config.media
        self._folders = {split: Path(config.folder or "", config.splits[split]) for split in config.given}
        for folder in self._folders.values():
            if not folder.is_dir():
                raise UserError(
                    f"{folder} is no folder: set dataset.folder, and dataset.splits to the folders of train, dev and "
                    "test; without dev and test, dataset.dev_size=100 dataset.test_size=100 cut them from train"
                )

    def columns(self, split: str) -> Collection[str]:
        return ()

    def embedded(self, split: str) -> None:
        return None

    def notes(self) -> list[str]:
        return []


class Kaldi(Utterances):
    """`wav.scp`: `recording path` on each line; `text`: `utterance words`; `segments`, where there is one: `utterance
    recording begin end`, in seconds; else the recordings are the utterances. (kaldi-asr.org, "Data preparation".)"""

    def identity(self) -> str:
        names = ("wav.scp", "text", "segments")
        paths = [folder / name for folder in self._folders.values() for name in names]
        return "kaldi " + digest((path.name, path) for path in paths if path.is_file())

    def located(self, split: str) -> Iterator[tuple[str, Example]]:
        folder = self._folders[split]
        recordings = dict(self._recordings(folder / "wav.scp"))
        path = folder / "segments"
        parts = dict(_segments(path, recordings)) if path.is_file() else recordings
        for where, name, words in _entries(folder / "text"):
            if name not in parts:
                raise UserError(
                    f"{where} is of {name}, which {path if path.is_file() else folder / 'wav.scp'} lacks: add it "
                    "there, or leave the line out"
                )
            yield where, Example(parts[name], words)

    def _recordings(self, path: Path) -> Iterator[tuple[str, str]]:
        for where, name, source in _entries(path):
            if source.endswith("|"):
                raise UserError(
                    f"{where} is a command ({source[:60]}), and none is run: write its sound to a file, and name that"
                )
            # Paths are absolute, or relative to where Kaldi was run, which the media folder stands for.
            yield name, os.path.relpath(source, self._media) if os.path.isabs(source) else source


class LibriSpeech(Utterances):
    """`<speaker>/<chapter>/<speaker>-<chapter>.trans.txt` with `utterance WORDS` on each line, and beside it the sound
    `<utterance>.flac` (Panayotov et al. 2015)."""

    def identity(self) -> str:
        paths = [path for folder in self._folders.values() for path in _transcripts(folder)]
        return "librispeech " + digest((path.name, path) for path in paths)

    def located(self, split: str) -> Iterator[tuple[str, Example]]:
        for transcripts in _transcripts(self._folders[split]):
            for where, name, words in _entries(transcripts):
                sounds = [transcripts.parent / f"{name}{ending}" for ending in _ENDINGS]
                sound = next((path for path in sounds if path.is_file()), sounds[0])
                yield where, Example(os.path.relpath(sound, self._media), words)


def _transcripts(folder: Path) -> list[Path]:
    return files_below(folder, "*.trans.txt")


def _segments(path: Path, recordings: dict[str, str]) -> Iterator[tuple[str, str]]:
    for where, name, rest in _entries(path):
        fields = rest.split()
        try:
            recording, begin, end = fields
            if not 0 <= float(begin) < float(end) < math.inf:
                raise ValueError
        except ValueError:
            raise UserError(
                f"{where} is not `utterance recording begin end` with begin before end: {rest[:60]!r}"
            ) from None
        if recording not in recordings:
            raise UserError(
                f"{where} is of recording {recording}, which {path.with_name('wav.scp')} lacks: add it there"
            )
        yield name, f"{recordings[recording]}#t={_seconds(begin)},{_seconds(end)}"


def _seconds(number: str) -> str:
    """Without an exponent, which spans do not have."""
    return np.format_float_positional(float(number), trim="0")


def _entries(path: Path) -> Iterator[tuple[str, str, str]]:
    """Of each line that is not blank its place, its first word, and the rest; the first word names one line alone."""
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
