"""Strings of spoken digits: an ordinary folder of sound, the same for the same recordings, of which no two splits share
one."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")
SCRIPT = Path(__file__).parents[2] / "examples" / "digits.py"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten recordings of each of three digits by two speakers; the samples of each say which it is."""
    folder = tmp_path_factory.mktemp("fsdd")
    for place, speaker in enumerate(("theo", "lucas")):
        for digit in (0, 1, 9):
            for index in range(10):
                samples = np.full(170, 1000 * digit + 100 * index + 20 * place + 2000, np.int16)
                soundfile.write(folder / f"{digit}_{speaker}_{index}.wav", samples, 8000)
    return folder


def made(recordings: Path, folder: Path, *flags: str) -> dict[str, list[tuple[str, set[int]]]]:
    """Returns the text of each string, and the recordings that are heard in its sound, by split."""
    command = [sys.executable, str(SCRIPT), str(recordings), str(folder), *flags]
    subprocess.run(command, check=True, capture_output=True, text=True)
    splits = {}
    for split in ("train", "dev", "test"):
        lines = (folder / f"{split}.tsv").read_text().splitlines()
        assert lines[0] == "path\ttext"
        rows = [line.split("\t") for line in lines[1:]]
        sounds = [soundfile.read(folder / path, dtype="int16")[0] for path, _ in rows]
        assert all(len(sound) % 80 == 0 for sound in sounds)
        heard = [np.unique(sound[1:][np.diff(sound) == 0], return_counts=True) for sound in sounds]
        loud = [{int(value) for value, n in zip(*each, strict=True) if n > 100 and value >= 2000} for each in heard]
        splits[split] = [(text, values) for (_, text), values in zip(rows, loud, strict=True)]
    return splits


def test_each_recording_alone(recordings: Path, tmp_path: Path) -> None:
    splits = made(recordings, tmp_path / "one", "--single")
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 12, "dev": 18, "test": 30}
    heard = {split: {value for _, values in rows for value in values} for split, rows in splits.items()}
    assert not heard["train"] & heard["test"] and not heard["train"] & heard["dev"]
    for text, values in splits["test"]:
        assert {value // 1000 - 2 for value in values} == {{"zero": 0, "one": 1, "nine": 9}[text]}
    again = made(recordings, tmp_path / "again", "--single")
    assert again == splits
    held_out = made(recordings, tmp_path / "out", "--single", "--held-out", "lucas")
    assert {split: len(rows) for split, rows in held_out.items()} == {"train": 21, "dev": 9, "test": 30}
    assert {value % 100 for _, values in held_out["test"] for value in values} == {20}


def test_what_has_no_recordings_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), str(tmp_path), str(tmp_path / "new")]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 1 and "has no recordings for train, dev, test: expected <digit>_" in ended.stderr
