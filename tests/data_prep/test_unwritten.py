"""Preparation says what the tokenizer cannot write, before anything is trained."""

import re
from pathlib import Path

import pytest

from data_prep.parallel import MERGE, Part
from data_prep.prepare import prepare
from data_prep.preview import preview
from mt.data.dataset import DatasetConfig

GERMAN = ["ein Haus", "zwei Häuser", "drei ▁Häuser", "vier <s> Hunde"] * 5
ENGLISH = ["a house", "two houses", "three houses", "four dogs"] * 5


def config(folder: Path, german: str, **tokenizer: object) -> DatasetConfig:
    folder.mkdir(exist_ok=True)
    for split in ("train", "dev", "test"):
        texts = GERMAN if split == "train" else [*GERMAN[:4], german]
        (folder / f"{split}.de").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        (folder / f"{split}.en").write_text("".join(f"{text}\n" for text in [*ENGLISH, "a"][: len(texts)]))
    options = {"name": "files", "folder": str(folder), "source": "en", "target": "de", "workers": 1}
    return DatasetConfig.model_validate({**options, "tokenizer": {"vocab_size": 60, **tokenizer}})


def said(made: DatasetConfig, root: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    prepare(made, root)
    lines = [line for line in capsys.readouterr().out.splitlines() if "does not give back" in line]
    assert [line for line in preview(made) if "does not give back" in line] == lines
    return lines


def test_it_is_counted_by_split_and_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(config(tmp_path / "text", "ein Ж"), tmp_path, capsys)
    assert lines == [
        f"!!! the tokenizer does not give back 1 of 5 targets of {split}, for example 'Ж', which becomes '⁇'"
        for split in ("dev", "test")
    ]


@pytest.mark.parametrize(
    ("german", "options"),
    [
        ("ein\u00a0Haus  ▁ein", {}),
        ("zwei Ha\u0308user", {}),
        ("EIN HAUS", {"lowercase": True}),
    ],
)
def test_nothing_is_said_of_what_scores_forgive(
    german: str, options: dict, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(config(tmp_path / "text", german, **options), tmp_path, capsys) == []


def test_what_to_do_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(config(tmp_path / "text", "ein Ж", model_type="word", vocab_size=10), tmp_path)
    out = capsys.readouterr().out
    assert re.search(r"!!! the tokenizer does not give back \d+ of 20 targets of train, for example '", out)
    assert "raise dataset.tokenizer.vocab_size, or set model_type=bpe" in out


def test_parts_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = config(tmp_path / "text", "ein Ж", model_type="word", vocab_size=10)
    prepare(made, tmp_path / "one")
    whole = [line for line in capsys.readouterr().out.splitlines() if "does not give back" in line]
    for number in (1, 2):
        prepare(made, tmp_path / "two", part=Part(number, 2))
    prepare(made, tmp_path / "two", part=MERGE)
    assert [line for line in capsys.readouterr().out.splitlines() if "does not give back" in line] == whole != []
