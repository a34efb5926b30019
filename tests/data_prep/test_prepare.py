import random
import re
from pathlib import Path

import pytest

from data_prep.prepare import prepare
from data_prep.preview import preview
from mt.cli.prepare import prepare as command
from mt.data.corpus import SPLITS, Corpus
from mt.data.dataset import DatasetConfig
from mt.data.tokenizer import EOS, UNK
from tests.data_prep.small import refusal, small_shards, text_config, write_texts

_WORDS = {"a": "ein", "cat": "Kater", "dog": "Hund", "sees": "sieht", "big": "großer", "one": "jemand", "hears": "hört"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draws = random.Random(1)
    rows = [draws.choices(sorted(_WORDS), k=draws.randint(3, 8)) for _ in range(340)]
    pairs = [(f"{' '.join(row)}.", f"{' '.join(_WORDS[word] for word in row)}.") for row in rows]
    write_texts(tmp_path, train=pairs[:300], dev=pairs[300:320], test=pairs[320:])
    return tmp_path


def _config(folder: Path, **settings) -> DatasetConfig:
    return text_config(folder, **{"tokenizer": {"vocab_size": 45}} | settings)


def _prepare(folder: Path, **settings) -> Path:
    return prepare(_config(folder, **settings), folder / "corpora", progress=False)


def test_a_corpus_holds_the_text_and_its_ids(folder: Path) -> None:
    made = _prepare(folder)
    opened = Corpus.open(made)
    assert made.name == f"files-{opened.meta['fingerprint'][:12]}"
    assert opened.meta["counts"]["dev"] == opened.meta["counts"]["test"] == 20
    assert opened.meta["vocabulary"] == {"source": 45, "target": 45}
    for name in SPLITS:
        split = opened.split(name)
        for side, tokenizer, position in zip(("source", "target"), opened.tokenizers, (0, 1), strict=True):
            ids = [pair[position] for pair in split.read(range(len(split))).pairs]
            assert [tokenizer.decode(row) for row in ids] == split.column(side)
            assert all(row[-1] == EOS and UNK not in row for row in ids)
            assert [len(row) for row in ids] == split.lengths()[position].tolist()
    german = (folder / "test.de").read_text(encoding="utf-8").splitlines()
    assert opened.split("test").column("references") == [[line] for line in german]


def test_a_corpus_is_made_once(folder: Path) -> None:
    made = _prepare(folder)
    files = {path: path.stat().st_ino for path in made.rglob("*")}
    assert _prepare(folder) == made
    assert _prepare(folder, licence="other", metrics=["chrf"], workers=3) == made
    assert {path: path.stat().st_ino for path in made.rglob("*")} == files


@pytest.mark.parametrize(
    "settings",
    [
        {"limit": 9},
        {"tokenizer": {"vocab_size": 40}},
        {"cleaning": {"max_length": 5}},
        {"source": "de", "target": "en"},
    ],
)
def test_other_settings_make_another_corpus(folder: Path, settings: dict) -> None:
    assert _prepare(folder) != _prepare(folder, **settings)


def test_the_folder_may_move(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    moved = tmp_path_factory.mktemp("elsewhere") / "text"
    first = _prepare(folder)
    folder.rename(moved)
    assert prepare(_config(moved), moved / "corpora", progress=False).name == first.name


def test_what_cleaning_drops_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [("a cat.", "ein Kater.")] * 2 + [("", "ein"), ("a " * 100_000, "ein"), ("a", "ein " * 11)]
    write_texts(folder, train=[*pairs, ("a dog.", "ein großer Hund.")])
    config = _config(folder, tokenizer={"model_type": "char"}, cleaning={"drop_duplicates": True})
    made = prepare(config, folder / "corpora", progress=True)
    assert Corpus.open(made).split("train").column("source") == ["a cat.", "a dog."]
    printed = capsys.readouterr().out
    assert "train: 2 of 6 pairs kept; dropped: " in printed
    reasons = ("empty", "longer than 100 words (max_length)", "length ratio over 9 (max_ratio)")
    for reason in (*reasons, "duplicate (drop_duplicates)"):
        assert f"1 {reason}" in printed
    # Four of six are told loudly, with what to change.
    assert [line for line in printed.splitlines() if line.startswith("!!!") and "vocabulary" not in line] == [
        "!!! cleaning drops 66.7% of the training pairs and nothing of dev and test, so that these differ from train:",
        *(f"!!!    16.7% {reason}" for reason in (*reasons, "duplicate (drop_duplicates)")),
        "!!! to keep them change the options in brackets, of dataset.cleaning",
    ]
    assert "dev: 20 pairs; test: 20 pairs" in printed
    assert Corpus.open(made).meta["dropped"]["empty"] == 1


def test_a_corpus_in_which_nothing_is_left_is_refused(folder: Path) -> None:
    config = _config(folder, cleaning={"max_length": 1})
    assert "cleaning dropped all 300 training pairs (300 longer than 1 words" in refusal(config, folder)


def test_a_dry_run_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(folder.rglob("*"))
    lines = list(preview(_config(folder, cleaning={"drop_duplicates": True})))
    assert sorted(folder.rglob("*")) == before
    text = capsys.readouterr().out
    assert "dev: 20 pairs; test: 20 pairs" in text
    assert "dropped as duplicate (drop_duplicates), for example '" in text
    assert sum(line.startswith("  source  ▁") for line in lines) == 5
    shares = [line.split()[-2:] for line in lines if " to " in line]
    assert [sum(float(row[side].strip("%")) for row in shares) for side in (0, 1)] == pytest.approx([100, 100], abs=0.3)


def test_texts_with_something_unknown_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_texts(folder, dev=[("鳥",) * 2], test=[("cat 鳥",) * 2, ("a cat",) * 2])
    prepare(_config(folder, tokenizer={"model_type": "char", "joint": False}), folder / "corpora")
    printed = capsys.readouterr().out.splitlines()
    lines = [line.strip() for line in printed if "vocabulary lacks" in line or line.startswith("  ")]
    lacking = ["1 of 1 sources of dev", "1 of 1 targets of dev", "1 of 2 sources of test", "2 of 2 targets of test"]
    assert lines[:4] == [f"!!! the vocabulary lacks something of {some}" for some in lacking]
    [last] = lines[4:]
    assert last.startswith("nothing of the training pairs is beyond it: look for misspellings and for phones without")
    prepare(_config(folder), folder / "corpora")
    assert "  to know more characters raise dataset.tokenizer.vocab_size" in capsys.readouterr().out
    prepare(_config(folder, tokenizer={"model_type": "word", "vocab_size": 10}), folder / "corpora")
    assert "words beyond the vocabulary are unknown: raise dataset.tokenizer.vocab_size" in capsys.readouterr().out


def test_a_split_that_is_spelt_otherwise_than_train_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As where one text has a typographic apostrophe, or another accent, in each sentence and the other has none."""
    spelt = {"train": "l’été ã", "dev": "l’été ã", "test": "l'été â"}
    write_texts(folder, **{split: [(f"summer {n}", f"{text} {n}") for n in range(99)] for split, text in spelt.items()})
    prepare(_config(folder, tokenizer={"model_type": "char"}), folder / "corpora")
    told = [line for line in capsys.readouterr().out.splitlines() if "spelt" in line]
    assert told == [
        "!!! targets of train and test are spelt differently; of 10,000 characters: '’' 1010 and 0, 'ã' 1010 and 0, "
        "\"'\" 0 and 1010, 'â' 0 and 1010"
    ]
    # In so few sentences, the same could be by chance.
    write_texts(folder, **{split: [(f"summer {n}", f"{text} {n}") for n in range(50)] for split, text in spelt.items()})
    prepare(_config(folder, tokenizer={"model_type": "char"}), folder / "corpora")
    assert "spelt" not in capsys.readouterr().out
    # A text may be spelt otherwise further down.
    both = [(f"summer {n}", f"{spelt['train' if n < 5000 else 'test']} {n}") for n in range(10_000)]
    write_texts(folder, train=both, dev=both[4900:5100], test=both[4900:5100])
    prepare(_config(folder, tokenizer={"model_type": "char"}), folder / "corpora")
    assert "spelt" not in capsys.readouterr().out


def test_sources_that_stand_in_train_too_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Splits that were drawn pair by pair have words in train with another pronunciation."""
    train = [(f"word {n}", f"w {n % 7}") for n in range(60)]
    write_texts(folder, train=train, dev=[("word 1", "v"), ("a", "b"), ("word 59", "v"), ("word 1", "u")])
    with small_shards(10**6, 25):
        prepare(_config(folder), folder / "corpora")
    assert "dev: 4 pairs, 3 of a source that stands in train, too; test: 20 pairs\n" in capsys.readouterr().out


def test_a_small_text_has_the_vocabulary_that_it_gives(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The usual 8,000 pieces are the most, and the size that was taken is told."""
    for joint in (True, False):
        config = _config(folder, tokenizer={"joint": joint})
        sizes = Corpus.open(prepare(config, folder / "corpora")).meta["vocabulary"]
        (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("vocabulary: ")]
        one, other = sizes["source"], sizes["target"]
        sides = f"{one} of at most 8,000 (source) and {other} of at most 8,000 (target)"
        assert line == (f"vocabulary: bpe, {one} of at most 8,000, joint" if joint else f"vocabulary: bpe, {sides}")


def test_no_text_of_a_corpus_gives_a_terminal_orders(folder: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    source = ["der \x1b]0;title\x07 hund", "ein \x9b31m mann", "die \u202e katze", "मैं \u200d हिन्दी"]
    write_texts(folder, **{split: [(line, "the \x1b[31m dog") for line in source] for split in SPLITS})
    monkeypatch.chdir(folder)
    options = ["dataset=files", f"dataset.folder={folder}", "dataset.source=en", "dataset.target=de", "dry_run=true"]
    command([*options, "dataset.tokenizer.model_type=char"])
    printed = capsys.readouterr().out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", printed)
    for escape in (r"\x1b ] 0 ; t i t l e \x07", r"\x9b 3 1 m", r"\u202e", r"\x1b [ 3 1 m"):
        assert escape in printed
    assert "ह ि न ् द ी" in printed
