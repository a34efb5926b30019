"""What a dry run tells a person to look at: places are lines of files, and hints count pairs that look wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from data_prep.hints import is_mojibake
from data_prep.preview import preview
from tests.data_prep.small import text_config

PAIRS = [(f"the house has {number} rooms", f"das Haus hat {number} Zimmer") for number in range(40)]
ODD = [
    ("a\thouse", "ein Haus"),
    ("the number of the house", "die Ã¼bliche Nummer"),
    ("yes, this is how it goes", "dieser Satz gehört " * 12 + "nicht hierher"),
    PAIRS[3],
    PAIRS[3],
    ("", "leer"),
]


def printed(capsys, folder, pairs, ending="en", **given) -> str:
    texts = {
        "en": [("en", "".join(f"{one}\n" for one, _ in pairs)), ("de", "".join(f"{other}\n" for _, other in pairs))],
        "csv": [("csv", "en,de\n\n" + "".join(f'"{one}","{other}"\n' for one, other in pairs))],
        "jsonl": [("jsonl", "\n".join(json.dumps({"en": one, "de": other}) + "\n" for one, other in pairs))],
    }
    for name, text in texts[ending]:
        (folder / f"train.{name}").write_text(text, encoding="utf-8")
    pieces = {"model_type": "char", "vocab_size": 80}
    lines = [*preview(text_config(folder, **{"dev_size": 2, "test_size": 2, "tokenizer": pieces} | given))]
    return "\n".join([capsys.readouterr().out, *lines])


def told(capsys: pytest.CaptureFixture, *given: Any, **options: Any) -> list[str]:
    lines = printed(capsys, *given, **options).splitlines()
    return [line for line in lines if line.startswith(("hints", "note", "dropped"))]


@pytest.mark.parametrize(("ending", "lines"), [("en", 1), ("csv", 3), ("jsonl", 1)])
def test_lines_are_those_of_the_file(ending: str, lines: int, tmp_path: Path, capsys: pytest.CaptureFixture):
    file = tmp_path / f"train.{ending}"
    step = 2 if ending == "jsonl" else 1  # there a blank line follows each
    places = [lines + step * (len(PAIRS) + number) for number in range(len(ODD))]
    dropped, hints = told(capsys, tmp_path, PAIRS + ODD, ending)
    assert dropped == f"dropped as empty, for example {file}, line {places[5]}: '' | 'leer'"
    kinds = ["1 with a tab", "1 with mojibake", "1 whose lengths do not fit"]
    kinds.append("2 repeated, which drop_duplicates leaves out")
    firsts = [f"{kind} (the first: {file}, line {at})" for kind, at in zip(kinds, places, strict=False)]
    assert hints == f"hints: of the training pairs {', '.join(firsts)}"


def test_cells_that_a_spreadsheet_quotes_for_a_comma_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    fine = [('"Yes, I do."', '"Ja, das tue ich."'), ('"Yes."', "Ja."), ('"a", "b"', "a, b")]
    [line] = told(capsys, tmp_path, [*PAIRS, *fine, ("Yes, I do. Good.", '"Ja, das tue ich."')])
    place = f"{tmp_path}/train.en, line {len(PAIRS) + 4}"
    assert line == f"hints: of the training pairs 1 with one side in quotation marks (the first: {place})"


def test_there_is_no_line_where_nothing_is_odd(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert told(capsys, tmp_path, PAIRS) == []


def test_entities_are_counted_unless_they_are_read(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    pairs = [*PAIRS, ("Q&amp;A of AT&T &such;", "l&apos; eau")]
    [line] = told(capsys, tmp_path, pairs)
    assert line.startswith("note: 1 training pairs hold HTML entities (&amp; &apos;)")
    assert told(capsys, tmp_path, pairs, unescape=True) == []


def test_links_that_seem_to_count_from_one_are_told(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "links"
    note = f"no link in {path} joins word 0, the first one: take 1 from all numbers if its words count from 1"
    for lines, count in ((["1-1 2-2", "3-1"], 1), (["1-1 2-2", "1-0"], 0), (["0-0", "1p2"], 0)):
        path.write_text("".join(f"{line}\n" for line in lines * (len(PAIRS) // 2)))
        assert printed(capsys, tmp_path, PAIRS, links=str(path)).splitlines().count(note) == count


def test_a_model_that_changes_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    pairs = [(f"the house has {number} ½ rooms", "the house") for number in range(40)]
    model = tmp_path / "own.model"
    with model.open("wb") as file:  # SentencePiece normalizes by NFKC where nothing else is asked for
        options = {"model_writer": file, "vocab_size": 26, "minloglevel": 2}
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(source for source, _ in pairs), **options)
    lines = printed(capsys, tmp_path, pairs, tokenizer={"model_file": str(model)})
    for split in ("dev", "test"):
        assert f"{model} changes 2 of 2 sources of {split}, for example '½', which becomes '1⁄2'" in lines


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


def test_the_line_of_a_pair_without_text_is_its_own(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    [dropped] = told(capsys, tmp_path, [*PAIRS, ("", "")])
    assert dropped == f"dropped as empty, for example {tmp_path / 'train.en'}, line {len(PAIRS) + 1}: '' | ''"
