"""A corpus is made again when any file has changed that it was made of, and is the same however it was made."""

import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data_prep import generated
from data_prep.prepare import fingerprint
from data_prep.sources import digest_of_code, open_source
from mt.data.corpus import SPLITS
from mt.data.dataset import DatasetConfig
from mt.data.tokenizer import TokenizerConfig, train
from tests.data_prep.small import write_texts


def mark(folder: Path, **options: Any) -> str:
    plain = {"name": "files", "folder": str(folder), "source": "audio", "target": "text", **options}
    config = DatasetConfig.model_validate(plain, strict=False)
    return fingerprint(config, open_source(config))


def sound(level: int) -> bytes:
    soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")
    file = io.BytesIO()
    soundfile.write(file, np.full(800, level, np.int16), 8000, format="FLAC")
    return file.getvalue()


def manifest(folder: Path) -> None:
    """Tables of paths: one sound for each split, `train.flac`, and part of another, below a link."""
    (folder / "elsewhere").mkdir(parents=True)
    (folder / "elsewhere/part.flac").write_bytes(sound(1))
    (folder / "link").symlink_to("elsewhere")
    for split in SPLITS:
        (folder / f"{split}.flac").write_bytes(sound(2))
        (folder / f"{split}.tsv").write_text(f"audio\ttext\n{split}.flac\tone\nlink/part.flac#t=0,0.05\ttwo\n")


AUDIO = {"field": {"name": "audio", "rate": 8000, "max_seconds": 1.0}, "tokenizer": {"model_type": "char"}}
TEXT = {"source": "en", "target": "de", "tokenizer": {"model_type": "word", "vocab_size": 50}}


def texts(folder: Path) -> None:
    write_texts(folder, **{name: [tuple(f"one {side} {name}" for side in ("en", "de", "de2"))] for name in SPLITS})


@pytest.mark.parametrize(
    ("make", "changed", "options"),
    [
        (manifest, "train.flac", AUDIO),
        (manifest, "elsewhere/part.flac", AUDIO),
        (manifest, "test.tsv", AUDIO),
        (texts, "train.de", TEXT),
        (texts, "dev.de2", {**TEXT, "references": ["de2"]}),
    ],
)
def test_every_file_that_is_read_counts(make, changed, options, tmp_path):
    make(tmp_path)
    before = mark(tmp_path, **options)
    assert mark(tmp_path, **options) == before
    path = tmp_path / changed
    path.write_bytes(sound(9) if path.suffix == ".flac" else path.read_bytes().replace(b"one", b"eins"))
    assert mark(tmp_path, **options) != before


@pytest.mark.parametrize("side", ["both", "source", "target"])
def test_a_model_of_the_user_counts(side: str, tmp_path: Path) -> None:
    texts(tmp_path)
    model = tmp_path / "mine.model"

    def learn(text: str) -> None:
        model.write_bytes(train(TokenizerConfig(model_type="char", vocab_size=30), [text]).model)

    own = {"model_file": str(model)}
    tokenizer = {**TEXT["tokenizer"], **(own if side == "both" else {"joint": False, side: own})}
    learn("one two")
    before = mark(tmp_path, **{**TEXT, "tokenizer": tokenizer})
    learn("three four")
    assert mark(tmp_path, **{**TEXT, "tokenizer": tokenizer}) != before


@pytest.mark.parametrize("name", ["bulletin", "morse", "phrasebook", "scenes"])
def test_every_file_of_a_generator_counts(name: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(Path(generated.__path__[0], name), tmp_path / name))
    before = digest_of_code(folder)
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".txt")):
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        assert digest_of_code(folder) != before, path
        path.write_bytes(content)
    assert digest_of_code(folder) == before


def test_fingerprints_are_those_of_0_3_0(tmp_path: Path) -> None:
    """So that corpora stay, and runs on them go on: options that came or went since change none."""
    write_texts(tmp_path, **{split: [("a", "a")] for split in SPLITS})
    config = DatasetConfig(folder=str(tmp_path), source="en", target="de")
    expected = "e22e35caed9d5d7b11940ad6385d7d503fbce2e912505d1cafd55f7dc1634ac4"
    assert fingerprint(config, open_source(config)) == expected
