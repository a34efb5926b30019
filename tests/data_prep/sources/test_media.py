from pathlib import Path

import numpy as np
import pytest

from data_prep.prepare import prepare
from data_prep.sources import open_source
from mt.data.corpus import Corpus, Example
from mt.errors import UserError
from tests.data_prep.small import RATE, prepared, refusal, sound_config

soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")
Image = pytest.importorskip("PIL.Image", reason="needs the extra `images`")


def write_sounds(folder: Path, names: list[str], seconds: float = 0.1) -> None:
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.full(int(RATE * seconds), 0.01 * (number + 1)), RATE)


def write_tables(folder: Path) -> None:
    write_sounds(folder, [f"sounds/{number}.wav" for number in range(6)])
    for split, numbers in {"train": (0, 1, 2, 3), "dev": (4,), "test": (5,)}.items():
        lines = [f"sounds/{number}.wav\ttext {number}" for number in numbers]
        (folder / f"{split}.tsv").write_text("\n".join(["path\ttext", "", *lines]) + "\n")


def test_a_table_of_sounds_becomes_a_corpus(tmp_path: Path) -> None:
    write_tables(tmp_path)
    corpus = prepared(sound_config(tmp_path), tmp_path)
    train = corpus.split("train")
    assert train.column("source") == [f"sounds/{number}.wav" for number in range(4)]
    rows = train.ids([3, 0])
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
    with (tmp_path / "train.tsv").open("a") as file:
        file.write(f"{line}\n")
    refused = refusal(sound_config(tmp_path), tmp_path)
    assert refused.removeprefix(f"{tmp_path}/train.tsv, line 7").lstrip().startswith(sentence.format(folder=tmp_path))
    assert refused.startswith(f"{tmp_path}/train.tsv, line 7")


def test_dev_and_test_are_refused_where_train_is_cleaned(tmp_path: Path, capsys) -> None:
    write_tables(tmp_path)
    write_sounds(tmp_path, ["long.wav"], seconds=1.5)
    soundfile.write(tmp_path / "none.wav", np.zeros(0), RATE)
    with (tmp_path / "train.tsv").open("a") as file:
        file.write("long.wav\ta\nnone.wav\tb\nsounds/0.wav\t \n")
    corpus = Corpus.open(prepare(sound_config(tmp_path), tmp_path / "corpora"))
    assert len(corpus.split("train")) == 4
    reasons = ("longer than 1 seconds (dataset.field.max_seconds)", "without sound", "empty")
    assert corpus.meta["dropped"] == dict.fromkeys(reasons, 1)
    with (tmp_path / "dev.tsv").open("a") as file:
        file.write("late.wav\ta\n")
    write_sounds(tmp_path, ["late.wav"], seconds=1.5)
    long = "has 1.5 seconds, more than the 1 of dataset.field.max_seconds: cut it into utterances, or raise that"
    assert refusal(sound_config(tmp_path), tmp_path) == f"{tmp_path}/dev.tsv, line 4: {tmp_path}/late.wav {long}"
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
    assert list(open_source(config).splits["dev"].read()) == [Example("2.png", "one", more_references=("two", "three"))]
    corpus = prepared(config, tmp_path)
    train = corpus.split("train")
    dev = corpus.split("dev")
    assert train.column("source") == ["0.png", "0.png", "1.png", "1.png"]
    assert train.column("target") == ["red", "a red one", "dark", "a dark one"]
    assert [int(row[0, 0, 0]) for row, _ in train.ids([3, 1, 0, 2])] == [1, 0, 0, 1]
    assert train.lengths()[0].tolist() == [1] * 4
    stored = train._table["source_ids"]
    assert stored.null_count == 2, "a picture is stored once"
    assert dev.column("references") == [["one", "two", "three"]]


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    config = sound_config(tmp_path, folder=None, hub={"id": "a/b"})
    with pytest.raises(UserError, match=r"the sources of audio are audio, in files that are not downloaded with the h"):
        open_source(config)
    with pytest.raises(UserError, match=r"dataset.cleaning.truncate_source keeps words, and the sources of audio are"):
        sound_config(tmp_path, cleaning={"truncate_source": 3})
