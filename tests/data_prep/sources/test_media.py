"""Sounds and pictures in files: accepted as docs/data.md says, or one sentence with file and line."""

import json
from pathlib import Path

import numpy as np
import pytest

from mt.data.corpus import Example
from tests.data_prep.small import RATE, pairs_of, prepared, refusal, require_refused, sound_config
from tests.refusals.sentences import require_refusal

soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")
Image = pytest.importorskip("PIL.Image", reason="needs the extra `images`")


def write_sound(path: Path, seconds: float = 0.1, level: float = 0.01, **how: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.full(int(RATE * seconds), level), RATE, **how)


def write_tables(folder: Path) -> None:
    for number in range(6):
        write_sound(folder / f"sounds/{number}.wav", level=0.01 * (number + 1))
    for split, numbers in {"train": (0, 1, 2, 3), "dev": (4,), "test": (5,)}.items():
        lines = [f"sounds/{number}.wav\ttext {number}" for number in numbers]
        (folder / f"{split}.tsv").write_text("\n".join(["path\ttext", "", *lines]) + "\n")


def add(folder: Path, lines: str, split: str = "train") -> None:
    with (folder / f"{split}.tsv").open("a") as file:
        file.write(lines)


def test_a_table_of_sounds_becomes_a_corpus(tmp_path: Path) -> None:
    write_tables(tmp_path)
    corpus = prepared(sound_config(tmp_path), tmp_path)
    train = corpus.split("train")
    assert train.column("source") == [f"sounds/{number}.wav" for number in range(4)]
    rows = train.read([3, 0]).pairs
    assert [row.shape for row, _ in rows] == [(10, 80)] * 2
    assert [int(row[0, 0]) for row, _ in rows] == [1310, 327]
    assert corpus.tokenizers.target.decode(rows[0][1]) == "text 3"
    assert train.lengths()[0].tolist() == [10] * 4
    assert corpus.tokenizers.joint and len(corpus.tokenizers.target) < 20, "learnt from the targets alone"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("sounds/9.wav\ta", "names 'sounds/9.wav', but there is no file {folder}/sounds/9.wav: correct the path, "),
        ("../out.wav\ta", "names '../out.wav', which is not inside {folder}: give paths relative "),
        ("sounds/../../x\ta", "names 'sounds/../../x', which is not inside {folder}: "),
        ("\ta", "names 'no file', which is not inside {folder}: "),
        ("train.tsv\ta", ": {folder}/train.tsv is no sound, or cut short (Format not recognised): expected "),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, sentence: str) -> None:
    write_tables(tmp_path)
    add(tmp_path, f"{line}\n")
    refused = refusal(sound_config(tmp_path), tmp_path)
    assert refused.removeprefix(f"{tmp_path}/train.tsv, line 7").lstrip().startswith(sentence.format(folder=tmp_path))
    assert refused.startswith(f"{tmp_path}/train.tsv, line 7")


def test_dev_and_test_are_refused_where_train_is_cleaned(tmp_path: Path) -> None:
    write_tables(tmp_path)
    write_sound(tmp_path / "long.wav", seconds=1.5)
    write_sound(tmp_path / "none.wav", seconds=0)
    add(tmp_path, "long.wav\ta\nnone.wav\tb\nsounds/0.wav\t \n")
    corpus = prepared(sound_config(tmp_path), tmp_path)
    assert len(corpus.split("train")) == 4
    reasons = ("longer than 1 seconds (dataset.field.max_seconds)", "without sound", "empty")
    assert corpus.meta["dropped"] == dict.fromkeys(reasons, 1)
    write_tables(tmp_path)
    add(tmp_path, "long.wav\ta\n")
    add(tmp_path, "long.wav\ta\n", "dev")
    long = "has 1.5 seconds, more than the 1 of dataset.field.max_seconds: cut it into utterances, or raise that"
    assert refusal(sound_config(tmp_path), tmp_path) == f"{tmp_path}/dev.tsv, line 4: {tmp_path}/long.wav {long}"
    (tmp_path / "dev.tsv").write_text("path\ttext\nsounds/4.wav\t\n")
    assert refusal(sound_config(tmp_path), tmp_path).startswith(f"{tmp_path}/dev.tsv, line 2 has no text, and dev")


def test_a_picture_with_several_captions_is_one_example_and_in_train_a_pair_for_each(tmp_path: Path) -> None:
    for number in range(3):
        Image.new("RGB", (20, 20), (number, 0, 0)).save(tmp_path / f"{number}.png")
    rows = ["0.png,red", "1.png,dark", "0.png,a red one", "1.png,a dark one"]
    (tmp_path / "train.csv").write_text("\n".join(["path,caption", *rows]) + "\n")
    for split in ("dev", "test"):
        (tmp_path / f"{split}.csv").write_text("path,caption\n2.png,one\n2.png,two\n2.png,three\n")
    words = {"model_type": "word", "vocab_size": 50}
    config = sound_config(tmp_path, target="caption", field={"name": "image", "size": 16}, tokenizer=words)
    assert pairs_of(config, "dev") == [Example("2.png", "one", more_references=("two", "three"))]
    corpus = prepared(config, tmp_path)
    train = corpus.split("train")
    dev = corpus.split("dev")
    assert train.column("source") == ["0.png", "0.png", "1.png", "1.png"]
    assert train.column("target") == ["red", "a red one", "dark", "a dark one"]
    assert [int(row[0, 0, 0]) for row, _ in train.read([3, 1, 0, 2]).pairs] == [1, 0, 0, 1]
    assert train.lengths()[0].tolist() == [1] * 4
    stored = train._table["source_ids"]
    assert stored.null_count == 2, "a picture is stored once"
    assert dev.column("references") == [["one", "two", "three"]]


def test_a_manifest_of_parts_of_sounds_is_refused(tmp_path: Path) -> None:
    """The texts of all parts would be taken for those of the whole sound."""
    write_tables(tmp_path)
    (tmp_path / "train.tsv").unlink()
    row = {"path": "sounds/0.wav", "text": "a", "offset": 0.05, "duration": 0.05}
    (tmp_path / "train.jsonl").write_text(f"{json.dumps(row)}\n")
    assert refusal(sound_config(tmp_path), tmp_path) == (
        f"{tmp_path}/train.jsonl, line 1 has a column offset, but seconds are read from the path alone: write "
        "a.wav#t=1.5,3.2 there, as docs/layouts.md shows for manifests"
    )


def test_a_table_without_rows_is_named(tmp_path: Path) -> None:
    write_tables(tmp_path)
    (tmp_path / "train.tsv").write_text("path\ttext\n")
    expected = f"{tmp_path}/train.tsv has no rows: expected one for each pair"
    assert refusal(sound_config(tmp_path), tmp_path) == expected


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    config = sound_config(tmp_path, folder=None, hub={"id": "a/b"})
    require_refused(config, "the sources of audio are audio, in files that are not downloaded with the hub")
    words = {"truncate_source": 3}
    facts = "dataset.cleaning.truncate_source keeps words, and the sources of audio are"
    require_refusal(lambda: sound_config(tmp_path, cleaning=words), facts)


@pytest.mark.parametrize(("name", "format"), [("cut.wav", "WAV"), ("cut.ogg", "OGG")])
def test_what_does_not_tell_that_it_was_cut_is_read_as_far_as_it_goes(tmp_path: Path, name: str, format: str) -> None:
    write_tables(tmp_path)
    soundfile.write(tmp_path / name, np.random.default_rng(0).normal(0, 0.1, 20 * RATE), RATE, format=format)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    add(tmp_path, f"{name}\tbad\n")
    field = {"name": "audio", "rate": RATE, "max_seconds": 30.0}
    assert 800 < prepared(sound_config(tmp_path, field=field), tmp_path).split("train").lengths()[0][4] < 1200


def test_an_hour_is_not_read(tmp_path: Path) -> None:
    write_tables(tmp_path)
    write_sound(tmp_path / "long.wav")
    size = 2 * RATE * 3_600
    with (tmp_path / "long.wav").open("r+b") as file:
        header = file.read(44)
        file.seek(4)
        file.write((36 + size).to_bytes(4, "little"))
        file.seek(header.index(b"data") + 4)
        file.write(size.to_bytes(4, "little"))
        file.truncate(44 + size)  # a file with a hole, which takes no disk
    add(tmp_path, "long.wav\tbad\n")
    dropped = prepared(sound_config(tmp_path), tmp_path).meta["dropped"]
    assert dropped == {"longer than 1 seconds (dataset.field.max_seconds)": 1}
    write_tables(tmp_path)
    add(tmp_path, "long.wav\tbad\n", "dev")
    facts = f"{tmp_path}/dev.tsv, line 4: {tmp_path}/long.wav has 3,600.0 seconds, more than the 1 of "
    assert refusal(sound_config(tmp_path), tmp_path).startswith(facts)
