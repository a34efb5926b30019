"""Strings of spoken digits, joined from recordings of single ones as the Free Spoken Digit Dataset has them.

A string is written as a sum, `0.12 + recordings/3_theo_12.wav + 0.21 + recordings/1_theo_7.wav + 0.3`. A number is a
pause of so many seconds. Its noise is at most as loud as the quietest 10 ms of the recordings, and may be none. Each
string is of one speaker. Recordings come in turn: all of a speaker's in some order before any comes again.
"""

import functools
import os
import re
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from data_prep.sources.base import Source, digest, files_below, from_lists
from mt.data.corpus import SPLITS, Example
from mt.data.dataset import DatasetConfig, DigitsConfig
from mt.data.fields import FieldConfig, build_field
from mt.errors import UserError, nearest

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_JOIN = " + "
_FRAME = 0.01  # seconds; recordings are read in whole frames, so that quiets are whole frames, too
_NONE = 1 / 3  # share of the strings whose quiets have no noise


class Recording(NamedTuple):
    """The file `3_theo_12.wav`, in some format that can be read, in a folder or below it."""

    path: str
    """The name of its file in the folder."""
    digit: int
    speaker: str
    number: int
    """Its index."""


def digit_strings(config: DatasetConfig) -> Source:
    """Returns a source of strings, whose links are the milliseconds at which each digit's recording begins and ends,
    `120-540 750-1010`."""
    folder = Path(config.folder or "")
    options = config.digits or DigitsConfig()
    # Recordings are divided before strings are drawn, so that no recording is in two splits.
    recordings = _recordings(folder, build_field(config.field).endings)
    by_split = _shared_out(recordings, options, folder)
    strings = _Strings(folder, options, config.field, by_split)

    # Strings are drawn once, when a split is first read, and kept for the others.
    def examples() -> dict[str, list[Example]]:
        return {split: list(strings.drawn(split)) for split in SPLITS}

    def notes() -> list[str]:
        counts = (f"{len(by_split[split]):,} for {split}" for split in SPLITS)
        return [f"recordings of single digits, none of which two splits share: {', '.join(counts)}"]

    # The identity covers the recordings alone, since the strings follow from them and the options.
    return Source(
        splits=from_lists(examples, folder, ("string", "words of string"), SPLITS),
        identity=lambda: "digits " + digest((recording.path, folder / recording.path) for recording in recordings),
        files=lambda: [folder / recording.path for recording in recordings],
        notes=notes,
    )


class _Strings:
    """Draws strings from the recordings of each split."""

    def __init__(
        self, folder: Path, options: DigitsConfig, field: FieldConfig, recordings: Mapping[str, list[Recording]]
    ) -> None:
        self._folder = folder
        self._options = options
        self._field = field
        self._recordings = recordings

    def drawn(self, split: str) -> Iterator[Example]:
        size = getattr(self._options, split)
        rng = Random(f"{self._options.seed} {split}")
        count = 0
        while size is None or count < size:
            for string in self._once(split, rng)[: None if size is None else size - count]:
                count += 1
                yield self._example(string, rng)
            if size is None:
                break

    def _once(self, split: str, rng: Random) -> list[list[Recording]]:
        """Draws strings that use each recording at most once; what is too little for another string is left out."""
        # Strings are drawn speaker by speaker, so that one voice says the whole of each.
        fewest, most = self._options.lengths
        strings = []
        for speaker in sorted({recording.speaker for recording in self._recordings[split]}):
            unused = [recording for recording in self._recordings[split] if recording.speaker == speaker]
            rng.shuffle(unused)
            while len(unused) >= fewest:
                single = split == "train" and rng.random() < self._options.singles
                count = 1 if single else min(rng.randint(fewest, most), len(unused))
                strings.append(unused[:count])
                del unused[:count]
        # Too few recordings of every speaker leave no string: the user must choose shorter ones.
        if not strings:
            raise UserError(
                f"no speaker has the {fewest} recordings for {split} of which dataset.digits.lengths makes a string: "
                "lower it, or change dataset.digits.test_recordings and dev_recordings"
            )
        rng.shuffle(strings)
        return strings

    def _example(self, string: list[Recording], rng: Random) -> Example:
        shortest, longest = self._options.gaps
        now = quiet = round(rng.uniform(0, longest) / _FRAME)
        written = [_seconds(quiet)]
        times = []
        for number, recording in enumerate(string, start=1):
            length = len(_samples(str(self._folder / recording.path), self._field))
            quiet = round(rng.uniform(shortest if number < len(string) else 0, longest) / _FRAME)
            written += [recording.path, _seconds(quiet)]
            times.append(f"{10 * now}-{10 * (now + length)}")
            now += length + quiet
        return Example(_JOIN.join(written), " ".join(WORDS[recording.digit] for recording in string), " ".join(times))


def joined(folder: Path, field: FieldConfig, source: str) -> np.ndarray:
    """Returns the sound, [samples] int16, of a string that is written as the source of an example: a function of its
    arguments.

    Raises SourceError where a recording cannot be read.
    """
    written = source.split(_JOIN)
    sounds = [_samples(str(folder / name), field) for name in written[1::2]]
    rng = np.random.default_rng(zlib.crc32(source.encode()))
    floor = min(float(np.square(sound, dtype=np.float64).mean(axis=1).min()) ** 0.5 for sound in sounds)
    loudness = floor * max(0.0, rng.uniform(-_NONE / (1 - _NONE), 1))
    pieces = []
    for pause, sound in zip(written[::2], [*sounds, None], strict=True):
        shape = round(float(pause) / _FRAME), *sounds[0].shape[1:]
        pieces.append(np.rint(loudness * rng.standard_normal(shape)).astype(np.int16))
        if sound is not None:
            pieces.append(sound)
    return np.concatenate(pieces).ravel()


def _samples(path: str, field: FieldConfig) -> np.ndarray:
    """Returns [frames, samples of 10 ms] int16."""
    return _read(path, os.stat(path).st_mtime_ns if os.path.isfile(path) else 0, field)


@functools.lru_cache(maxsize=8192)  # each recording is part of many strings
def _read(path: str, written: int, field: FieldConfig) -> np.ndarray:
    return np.asarray(build_field(field).encode([path], None)[0])


def _seconds(frames: int) -> str:
    return f"{frames * _FRAME:.2f}"


def _recordings(folder: Path, endings: Collection[str]) -> list[Recording]:
    """Lists the recordings below a folder. Raises UserError where there are none."""
    named = re.compile(rf"([0-9])_([^_]+)_([0-9]+)({'|'.join(map(re.escape, endings))})")
    paths = files_below(folder, "*_*_*.*") if folder.is_dir() else []
    names = sorted(os.path.relpath(path, folder) for path in paths)
    matches = ((name, named.fullmatch(os.path.basename(name))) for name in names)
    recordings = [Recording(name, int(it[1]), it[2], int(it[3])) for name, it in matches if it]
    if not recordings:
        raise UserError(
            f"{folder} has no recordings of digits: set dataset.folder to the folder that holds them. Their names are "
            "<digit>_<speaker>_<index>.wav (or .flac, .ogg), as in the Free Spoken Digit Dataset"
        )
    return recordings


def _shared_out(recordings: list[Recording], options: DigitsConfig, folder: Path) -> dict[str, list[Recording]]:
    """Returns the recordings of each split. Raises UserError where one has none."""
    # The speaker that is held out must be one of the folder's.
    held_out = options.held_out
    speakers = sorted({recording.speaker for recording in recordings})
    if held_out is not None and held_out not in speakers:
        raise UserError(
            f"{folder} has no speaker {held_out}: {nearest(held_out, speakers)}; set dataset.digits.held_out"
        )
    # A speaker that is held out is the whole test split; otherwise each speaker gives some recordings to it.
    tested = options.test_recordings if held_out is None else 0
    by_split: dict[str, list[Recording]] = {split: [] for split in SPLITS}
    seen: dict[tuple[int, str], int] = {}
    for recording in sorted(recordings, key=lambda recording: (recording.number, recording.path)):
        if recording.speaker == held_out:
            by_split["test"].append(recording)
            continue
        place = seen[recording.digit, recording.speaker] = seen.get((recording.digit, recording.speaker), -1) + 1
        split = "test" if place < tested else "dev" if place < tested + options.dev_recordings else "train"
        by_split[split].append(recording)
    # A split without recordings cannot be trained or tested on, so it is refused here.
    for split, chosen in by_split.items():
        if not chosen:
            raise UserError(
                f"{folder} has no recordings left for {split} ({len(recordings):,} in all, by {', '.join(speakers)}): "
                "lower dataset.digits.test_recordings and dev_recordings, or leave dataset.digits.held_out out"
            )
    return by_split
