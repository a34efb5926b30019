"""What a dry run tells a person to look at: places are lines of files, and hints count pairs that look wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from data_prep.hints import is_mojibake
from data_prep.preview import preview
from mt.data.dataset import DatasetConfig

PAIRS = [(f"the house has {number} rooms", f"das Haus hat {number} Zimmer") for number in range(40)]
ODD = [
    ("a\thouse", "ein Haus"),
    ("the number of the house", "die Ã¼bliche Nummer"),
    ("yes, this is how it goes", "dieser Satz gehört " * 12 + "nicht hierher"),
    PAIRS[3],
    PAIRS[3],
    ("", "leer"),
]


def told(folder: Path, pairs: list[tuple[str, str]], ending: str, **given: Any) -> list[str]:
    texts = {
        "txt": [("en", "".join(f"{one}\n" for one, _ in pairs)), ("de", "".join(f"{other}\n" for _, other in pairs))],
        "csv": [("csv", "en,de\n\n" + "".join(f'"{one}","{other}"\n' for one, other in pairs))],
        "jsonl": [("jsonl", "\n".join(json.dumps({"en": one, "de": other}) + "\n" for one, other in pairs))],
    }
    for name, text in texts[ending]:
        (folder / f"train.{name}").write_text(text, encoding="utf-8")
    pieces = {"model_type": "char", "vocab_size": 80}
    plain = {"folder": str(folder), "source": "en", "target": "de", "dev_size": 2, "test_size": 2, "workers": 1}
    config = DatasetConfig.model_validate(plain | {"tokenizer": pieces} | given)
    return [line for line in preview(config) if line.startswith(("hints", "dropped"))]


@pytest.mark.parametrize(
    ("ending", "file", "lines"), [("txt", "train.en", 1), ("csv", "train.csv", 3), ("jsonl", "train.jsonl", 1)]
)
def test_lines_are_those_of_the_file(ending: str, file: str, lines: int, tmp_path: Path) -> None:
    odd = {"csv": ODD, "txt": ODD, "jsonl": ODD}[ending]
    step = 2 if ending == "jsonl" else 1  # there a blank line follows each
    places = [lines + step * (len(PAIRS) + number) for number in range(len(odd))]
    dropped, hints = told(tmp_path, PAIRS + odd, ending)
    assert dropped == f"dropped as empty, for example {tmp_path / file}, line {places[5]}: '' | 'leer'"
    assert hints == (
        "hints: of the training pairs 2 duplicates (drop_duplicates), "
        f"1 with a tab (the first: {tmp_path / file}, line {places[0]}), "
        f"1 with mojibake (the first: {tmp_path / file}, line {places[1]}), "
        f"1 whose lengths do not fit (the first: {tmp_path / file}, line {places[2]})"
    )


def test_there_is_no_line_where_nothing_is_odd(tmp_path: Path) -> None:
    assert told(tmp_path, PAIRS, "txt") == []


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("Ã¼ber", True),
        ("VÃ¤rde Partners", True),
        ("itâ€™s", True),
        ("Москва".encode().decode("latin-1"), True),
        ("caf\ufffd", True),
        ("über Ähren, Ödön, Ångström, Ñandú, Île-de-France, â", False),
        ("„Ich vergaß“, KÁMA AKYTÂ’AI", False),
        ("東京 Москва Ελλάδα", False),
        ("plain", False),
    ],
)
def test_mojibake(text: str, odd: bool) -> None:
    assert is_mojibake(text) == odd
