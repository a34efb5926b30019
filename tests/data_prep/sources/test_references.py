"""Several references of dev and test: texts beside the target's, columns, and lists in place of the target."""

import re
from pathlib import Path
from typing import Any

import pytest

from data_prep.prepare import prepare
from data_prep.sources import open_source
from mt.data.corpus import SPLITS, Corpus, Example
from mt.data.dataset import DatasetConfig
from tests.data_prep.small import prepared, refusal, require_refused, text_config
from tests.data_prep.sources.forms import Rows, write


def _config(folder: Path, *references: str, **settings) -> DatasetConfig:
    return text_config(folder, references=references, **settings)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Test has two references, dev one; both have lines without any."""
    splits = {
        "train": ("a house\ntwo dogs\n", "ein Haus\nzwei Hunde\n", "not read, and of another length\n"),
        "dev": ("a cat\nold\n", "eine Katze\nalt\n", "ein Kater\n\n"),
        "test": ("a bird\nnew\n", "ein Vogel\nneu\n", "Vogel\n \n", "ein Vögelchen\nneuer\n"),
    }
    folder = tmp_path / "texts"
    folder.mkdir()
    for split, texts in splits.items():
        for ending, text in zip(("en", "de", "de2", "de3"), texts, strict=False):
            (folder / f"{split}.{ending}").write_text(text, encoding="utf-8")
    return folder


def test_texts_beside_the_target(texts: Path) -> None:
    source = open_source(_config(texts, "de2", "de3"))
    assert [*source.splits["train"].read()] == [Example("a house", "ein Haus"), Example("two dogs", "zwei Hunde")]
    assert [example.more_references for example in source.splits["dev"].read()] == [("ein Kater",), ("",)]
    assert [one.more_references for one in source.splits["test"].read()] == [("Vogel", "ein Vögelchen"), (" ", "neuer")]
    assert source.splits["test"].sides == (f"{texts}/test.en, line", f"{texts}/test.de, line")
    assert {*source.splits["test"].columns()} == {"en", "de", "de2", "de3"}


def test_the_corpus_holds_them(texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Corpus.open(prepare(_config(texts, "de3", "de2"), tmp_path / "corpora"))
    assert made.split("train").column("references") == [["ein Haus"], ["zwei Hunde"]]
    assert made.split("dev").column("references") == [["eine Katze", "ein Kater"], ["alt"]]
    assert made.split("test").column("references") == [["ein Vogel", "ein Vögelchen", "Vogel"], ["neu", "neuer"]]
    assert made.split("test").column("target") == ["ein Vogel", "neu"]
    size = "dev: 2 pairs with 3 references; test: 2 pairs with 5 references"
    assert size in capsys.readouterr().out.splitlines()


def test_references_that_are_nowhere_are_named(texts: Path, tmp_path: Path) -> None:
    sentence = refusal(_config(texts, "de2", "ref3"), tmp_path)
    assert re.match(r"neither dev nor test has references ref3: .*de, de2, de3, en; set dataset", sentence)
    assert not (tmp_path / "corpora").exists()


def test_a_cut_leaves_references_whole(texts: Path) -> None:
    cut = {"truncate_source": 1, "truncate_target": 1}
    source = open_source(_config(texts, "de3", cleaning=cut))
    assert next(source.splits["train"].read()) == Example("a", "ein")
    assert next(source.splits["test"].read()) == Example("a", "ein Vogel", "", ("ein Vögelchen",))
    assert {*source.splits["dev"].columns()} == {"en", "de", "de2"}


def _write(path: Path, rows: Rows, layout: str = "") -> None:
    write(path, [{"id": 7, "translation": row} for row in rows] if "nested" in layout else rows)


LISTS = (".jsonl", "nested.jsonl", ".parquet")


@pytest.mark.parametrize("layout", [".tsv", ".csv", *LISTS])
def test_columns(tmp_path: Path, layout: str) -> None:
    ending = Path(f"x{layout}").suffix
    pair = {"en": "a bird", "de": "ein Vogel"}
    _write(tmp_path / f"train{ending}", [pair], layout)
    _write(tmp_path / f"dev{ending}", [pair], layout)
    rows = [{"ref2": "c"} | pair | {"ref1": "b"}, {"ref2": ""} | pair | {"ref1": "d"}]
    _write(tmp_path / f"test{ending}", rows, layout)
    source = open_source(_config(tmp_path, "ref1", "ref2"))
    assert [*source.splits["train"].read()] == [Example("a bird", "ein Vogel")]
    [dev] = source.splits["dev"].read()
    assert dev[:2] == ("a bird", "ein Vogel") and not any(dev.more_references)
    assert [example.more_references for example in source.splits["test"].read()] == [("b", "c"), ("d", "")]
    sentence = refusal(_config(tmp_path, "ref1", "ref3"), tmp_path)
    facts = r"neither dev nor test has references ref3: did you mean ref2\? .*de, en, ref1, ref2; set dataset"
    assert re.match(facts, sentence)
    assert not (tmp_path / "corpora").exists()


@pytest.mark.parametrize("layout", LISTS)
def test_a_list_in_place_of_the_target(tmp_path: Path, layout: str) -> None:
    ending = Path(f"x{layout}").suffix
    rows = [{"en": "a", "de": ["b", "c", ""], "more": ["d"]}, {"en": "e", "de": ["f"], "more": []}]
    for split in SPLITS:
        _write(tmp_path / f"{split}{ending}", rows, layout)
    made = prepared(_config(tmp_path, "more"), tmp_path)
    assert made.split("train").column("target") == made.split("test").column("target") == ["b", "f"]
    assert made.split("train").column("references") == [["b"], ["f"]]
    assert made.split("dev").column("references") == made.split("test").column("references") == [["b", "c", "d"], ["f"]]


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ([], "holds an empty list: expected the target, or all its references"),
        (["b", 3], "holds a list of other things than texts: give texts alone"),
        (["b", None], "holds a list of other things than texts: give texts alone"),
        ([["b"]], "holds a list of other things than texts: give texts alone"),
        (["b", "\0"], "holds a NUL character: remove it"),
        ({"b": "c"}, r"holds dict, not text: set dataset\.source and dataset\.target, and write sounds .* in cells"),
    ],
)
def test_bad_lists_are_refused(tmp_path: Path, target: Any, sentence: str) -> None:
    for split in SPLITS:
        write(tmp_path / f"{split}.jsonl", [{"en": "a", "de": ["b"]}, {"en": "a", "de": target}])
    require_refused(_config(tmp_path), rf"train\.jsonl, line 2, column de {sentence}$")
    require_refused(
        _config(tmp_path, source="de", target="en"),
        r"train\.jsonl, line 1, column de holds list, not text: set dataset\.source",
    )
