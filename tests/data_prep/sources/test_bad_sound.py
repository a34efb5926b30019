"""Sound that is not as it should be: accepted as docs/data.md says, or one sentence with file and line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.data_prep.small import RATE, prepared, refusal, sound_config

soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")


def write(path: Path, seconds: float = 0.2, rate: int = RATE, **how: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(0).normal(0, 0.1, round(rate * seconds))
    soundfile.write(path, noise, rate, **how)


def refused(folder: Path, **changed: Any) -> str:
    return refusal(sound_config(folder, **changed), folder).replace(str(folder), "DIR")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "good.wav")
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.tsv").write_text("path\ttext\ngood.wav\tgood\n")
    return tmp_path


def added(folder: Path, name: str, split: str = "train") -> None:
    (folder / f"{split}.tsv").write_text(f"path\ttext\ngood.wav\tgood\n{name}\tbad\n")


@pytest.mark.parametrize(("name", "format"), [("cut.wav", "WAV"), ("cut.ogg", "OGG")])
def test_what_does_not_tell_that_it_was_cut_is_read_as_far_as_it_goes(folder: Path, name: str, format: str) -> None:
    write(folder / name, 20.0, format=format)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2])
    added(folder, name)
    field = {"name": "audio", "rate": RATE, "max_seconds": 30.0}
    assert 800 < prepared(sound_config(folder, field=field), folder).split("train").lengths()[0][1] < 1200


def test_an_hour_is_not_read(folder: Path) -> None:
    write(folder / "long.wav")
    size = 2 * RATE * 3_600
    with (folder / "long.wav").open("r+b") as file:
        header = file.read(44)
        file.seek(4)
        file.write((36 + size).to_bytes(4, "little"))
        file.seek(header.index(b"data") + 4)
        file.write(size.to_bytes(4, "little"))
        file.truncate(44 + size)  # a file with a hole, which takes no disk
    added(folder, "long.wav")
    dropped = prepared(sound_config(folder), folder).meta["dropped"]
    assert dropped == {"longer than 1 seconds (dataset.field.max_seconds)": 1}
    (folder / "train.tsv").write_text("path\ttext\ngood.wav\tgood\n")
    added(folder, "long.wav", "dev")
    assert refused(folder).startswith("DIR/dev.tsv, line 3: DIR/long.wav has 3,600.0 seconds, more than the 1 of ")
