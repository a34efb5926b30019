"""Words and their pronunciations: tables without names, several lines of a word, and public data where it is."""

from functools import partial
from pathlib import Path

import pytest

from data_prep.sources import open_source
from mt.data.corpus import Corpus
from tests.data_prep.small import named, pairs_of, prepared as made
from tests.refusals.sentences import require_refusal

TRAIN = "a\tx\na\ty\na b\tx z\nab\tx z\nc\tv\n"
DEV = "b\tz\nbb\tz z\nb\tz y\nb\ty\n"


letters = partial(named, "letters")


def words_of(corpus: Corpus, split: str) -> list[str]:
    return list(corpus.split(split).column("source"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split, text in (("train", TRAIN), ("dev", DEV), ("test", "é\tx\n")):
        (tmp_path / f"{split}.tsv").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_word_counts_once_with_all_its_pronunciations_which_are_training_pairs(folder: Path) -> None:
    """A blank in a word is a letter."""
    corpus = made(letters(folder), folder)
    assert words_of(corpus, "dev") == ["b", "bb"]
    assert [list(group) for group in corpus.split("dev").column("references")] == [["z", "z y", "y"], ["z z"]]
    pairs = corpus.split("train").texts(range(5))
    assert pairs == [("a", "x"), ("a", "y"), ("a b", "x z"), ("ab", "x z"), ("c", "v")]
    source, target = corpus.tokenizers
    assert target.split("x z") == ["▁x", "▁z", "</s>"]
    assert source.split("a b") == ["▁", "a", "▁", "b", "</s>"]
    assert source.encode(["a b"]) != source.encode(["ab"])


def test_marks_of_further_pronunciations_are_no_letters(folder: Path) -> None:
    """As of CMUdict and Britfone. The cut of dev and test, too, takes the words without them."""
    lines = [f"w{n}({n})\tx\nw{n}\ty\n" for n in range(9)]
    (folder / "train.tsv").write_text(TRAIN.replace("a\ty", "a(1)\ty").replace("c\t", "(2)\t") + "".join(lines))
    (folder / "dev.tsv").write_text(DEV.replace("b\tz y", "b(12)\tz y"))
    corpus = made(letters(folder), folder)
    assert {source for source, _ in corpus.split("train").texts(range(5))} == {"a", "a b", "ab", "(2)"}
    assert words_of(corpus, "dev") == ["b", "bb"]
    cut = made(letters(folder, "dataset.dev_size=3"), folder)
    assert all(len(group) == 2 for group in cut.split("dev").column("references"))


def test_two_texts_may_have_such_marks_too(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.1").write_text("a\nab(1)\n")
        (tmp_path / f"{split}.2").write_text("x\ny\n")
    assert [pair.source for pair in pairs_of(letters(tmp_path))] == ["a", "ab"]


def test_one_file_is_cut_by_words(tmp_path: Path) -> None:
    lines = [f"{word}\tx {number}\n" for word in map(str, range(200)) for number in "12"]
    (tmp_path / "all.tsv").write_text("".join(lines))
    sizes = ("dataset.splits.train=all", "dataset.dev_size=20", "dataset.test_size=30")
    corpus = made(letters(tmp_path, *sizes), tmp_path)
    dev, test = (words_of(corpus, split) for split in ("dev", "test"))
    train = [source for source, _ in corpus.split("train").texts(range(len(corpus.split("train"))))]
    assert sorted([*dev, *test, *set(train)]) == sorted(map(str, range(200)))
    assert 10 <= len(dev) <= 11 and 15 <= len(test) <= 16
    assert all(train.count(word) == 2 for word in train)
    assert all(len(group) == 2 for group in corpus.split("test").column("references"))


def test_an_empty_side_is_named_by_its_own_row(folder: Path) -> None:
    (folder / "dev.tsv").write_text("b\tz\nb\ty\nb\t\n")
    require_refusal(lambda: made(letters(folder), folder), r"dev\.tsv, column 2, row 3 is empty")


@pytest.mark.parametrize("first", [";;; # CMUdict, 0.7b", "A  AH0", "aaron ER0 AH0 N", "!EXCLAMATION-POINT  EH2 K"])
def test_a_dictionary_of_another_form_is_told_the_form(first: str, folder: Path) -> None:
    (folder / "train.tsv").write_text(f"{first}\nB  B IY1\n")
    require_refusal(
        lambda: made(letters(folder), folder), r"train\.tsv, line 1 is one column \(.*\): write columns with tabs .*CMU"
    )


def test_columns_that_are_not_read_are_noted(folder: Path) -> None:
    """As the probabilities of a dictionary of MFA, which stand where phones are looked for."""
    (folder / "train.tsv").write_text("a\t0.9\t0.1\tx\nb\t0.8\t0.2\ty\n")
    source = open_source(letters(folder))
    assert source.notes() == [f"{folder}/train.tsv: of 4 columns, 1 and 2 are read"]
    same = ("dataset.splits.dev=train", "dataset.splits.test=train")
    assert [pair.target for pair in pairs_of(letters(folder, *same, "dataset.target=4"))] == ["x", "y"]
    (folder / "train.tsv").write_text("word\tp\tphones\na\t0.9\tx\n")
    assert open_source(letters(folder, *same, "dataset.source=word", "dataset.target=phones")).notes() == []


def test_pairs_stay_apart_where_nobody_asks(folder: Path) -> None:
    corpus = made(letters(folder, "dataset.join_references=false"), folder)
    assert words_of(corpus, "dev") == ["b", "bb", "b", "b"]
