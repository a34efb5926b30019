"""Strings of spoken digits, joined from recordings of single ones, as an ordinary folder of sound.

    python examples/digits.py FSDD DIR                        9,000, 300 and 600 strings of three to seven digits
    python examples/digits.py FSDD DIR --single               each recording once
    python examples/digits.py FSDD DIR --single --held-out theo        tested on a speaker who is not heard in training
    mt train dataset=digits dataset.folder=DIR                (single_digits with --single)

FSDD holds recordings `<digit>_<speaker>_<index>.wav` (or .flac, .ogg), as the Free Spoken Digit Dataset, however deep.
Of each digit and speaker the five recordings of the lowest indices are for test, and the next three for dev. In the
whole set that is the official split. Each string is of one speaker; recordings come in turn. Quiet between digits lasts
0.05 to 0.4 seconds. It is noise, at most as loud as the quietest 10 ms of the recordings, or none. A fixed seed draws
all of it.
DIR gets `train.tsv`, `dev.tsv` and `test.tsv` with the columns path and text, and the sounds beside them.
"""

import argparse
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import soundfile

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
RATE = 8000
FRAME = RATE // 100  # samples of 10 ms, in which quiet is counted
SIZES = {"train": 9_000, "dev": 300, "test": 600}
GAPS = (0.05, 0.4)
"""Shortest and longest quiet between two digits, in seconds; at the ends from none to the longest."""
NAME = re.compile(r"([0-9])_([^_]+)_([0-9]+)\.(wav|flac|ogg)")


class Recording(NamedTuple):
    path: str
    digit: int
    speaker: str
    number: int


def recordings_of(folder: Path, held_out: str | None) -> dict[str, list[Recording]]:
    """Returns the recordings of each split, of which none is in two."""
    named = {str(path.relative_to(folder)): NAME.fullmatch(path.name) for path in sorted(folder.rglob("*"))}
    found = [Recording(path, int(it[1]), it[2], int(it[3])) for path, it in sorted(named.items()) if it]
    splits: dict[str, list[Recording]] = {"train": [], "dev": [], "test": []}
    seen: dict[tuple[int, str], int] = {}
    for one in sorted(found, key=lambda one: (one.number, one.path)):
        place = seen[one.digit, one.speaker] = seen.get((one.digit, one.speaker), -1) + 1
        place += 0 if held_out is None else 5
        split = "test" if place < 5 or one.speaker == held_out else "dev" if place < 8 else "train"
        splits[split].append(one)
    if empty := [split for split, members in splits.items() if not members]:
        raise SystemExit(f"{folder} has no recordings for {', '.join(empty)}: expected <digit>_<speaker>_<index>.wav")
    return splits


def strings_once(
    recordings: list[Recording], split: str, lengths: tuple[int, int], rng: Random
) -> list[list[Recording]]:
    """Draws strings that use each recording at most once. Half of those to train on have one digit."""
    strings = []
    for speaker in sorted({one.speaker for one in recordings}):
        unused = [one for one in recordings if one.speaker == speaker]
        rng.shuffle(unused)
        while len(unused) >= lengths[0]:
            single = split == "train" and rng.random() < 0.5
            count = 1 if single else min(rng.randint(*lengths), len(unused))
            strings.append(unused[:count])
            del unused[:count]
    rng.shuffle(strings)
    return strings


def joined(string: list[Recording], quiets: list[int], sounds: list[np.ndarray]) -> np.ndarray:
    """Joins sounds, each [frames, samples], with quiet of so many frames before, between and after them."""
    written = [text for one, quiet in zip(string, quiets, strict=False) for text in (f"{quiet / 100:.2f}", one.path)]
    rng = np.random.default_rng(zlib.crc32(" + ".join([*written, f"{quiets[-1] / 100:.2f}"]).encode()))
    floor = min(float(np.square(sound, dtype=np.float64).mean(axis=1).min()) ** 0.5 for sound in sounds)
    loudness = floor * max(0.0, rng.uniform(-0.5, 1))  # of a third of the strings none
    pieces = []
    for quiet, sound in zip(quiets, [*sounds, None], strict=True):
        pieces.append(np.rint(loudness * rng.standard_normal((quiet, FRAME))).astype(np.int16))
        if sound is not None:
            pieces.append(sound)
    return np.concatenate(pieces).ravel()


def read(path: Path) -> np.ndarray:
    """Returns a recording as [frames, samples], silence filling up the last frame."""
    samples, rate = soundfile.read(path, dtype="int16")
    if rate != RATE or samples.ndim > 1 or not len(samples):
        raise SystemExit(f"{path} is no sound of one channel at {RATE} Hz: convert it")
    return np.pad(samples, (0, -len(samples) % FRAME)).reshape(-1, FRAME)


def strings_of(recordings: list[Recording], split: str, single: bool) -> Iterator[tuple[list[Recording], list[int]]]:
    """Yields the strings of a split, with the frames of quiet before, between and after their digits."""
    rng = Random(f"1 {split}")
    size = len(recordings) if single else SIZES[split]
    count = 0
    while count < size:
        for string in strings_once(recordings, split, (1, 1) if single else (3, 7), rng)[: size - count]:
            count += 1
            quiets = [round(rng.uniform(0, GAPS[1]) / 0.01)]
            quiets += [round(rng.uniform(GAPS[0], GAPS[1]) / 0.01) for _ in string[1:]]
            quiets.append(round(rng.uniform(0, GAPS[1]) / 0.01))
            yield string, quiets


def write(source: Path, folder: Path, split: str, recordings: list[Recording], *, single: bool) -> None:
    (folder / split).mkdir(parents=True)
    with (folder / f"{split}.tsv").open("w", encoding="utf-8") as table:
        table.write("path\ttext\n")
        for number, (string, quiets) in enumerate(strings_of(recordings, split, single)):
            name = f"{split}/{number:05}.wav"
            sound = joined(string, quiets, [read(source / one.path) for one in string])
            soundfile.write(folder / name, sound, RATE, subtype="PCM_16")
            table.write(f"{name}\t{' '.join(WORDS[one.digit] for one in string)}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, metavar="FSDD")
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new folder")
    parser.add_argument("--single", action="store_true", help="each recording once, alone")
    parser.add_argument("--held-out", metavar="SPEAKER", help="all of this speaker are for test, and no others")
    options = parser.parse_args()
    splits = recordings_of(options.source, options.held_out)
    for split, recordings in splits.items():
        write(options.source, options.folder, split, recordings, single=options.single)


if __name__ == "__main__":
    main()
