"""Every named dataset, read from a copy of its repository as the hub lays it out."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from data_prep.sources import open_source
from mt.cli.composition import CONF
from mt.data.corpus import SPLITS
from mt.data.dataset import DatasetConfig, HubConfig, SplitNames
from tests.data_prep.small import named, require_refused
from tests.data_prep.sources.forms import write

HUB = HubConfig(id="somebody/captions")

# Where the repositories keep their tables: files of a split, "*" for a number; and the folders of other subsets.
SHARDS = "{split}-0000*-of-00003.parquet"
CONVERTED = "{split}/000*.parquet"
LAYOUTS: dict[str, tuple[str, list[str]]] = {
    "wmt14": (f"de-en/{SHARDS}", ["cs-en", "fr-en"]),
    "wmt16_roen": (f"ro-en/{SHARDS}", ["cs-en", "de-en"]),
    "iwslt14_deen": (f"de-en/{CONVERTED}", []),
    "iwslt15_envi": (f"data/{SHARDS}", []),
    "iwslt2017": (f"iwslt2017-en-de/{CONVERTED}", ["iwslt2017-en-fr", "iwslt2017-it-nl"]),
    "opus_books": (f"de-en/{SHARDS}", ["ca-de", "en-fr"]),
    "gigaword": (f"default/{CONVERTED}", []),
    "cnn_dailymail": (f"3.0.0/{SHARDS}", ["1.0.0", "2.0.0"]),
    "xsum": (f"default/{CONVERTED}", []),
    "multi30k": ("{split}.jsonl", []),
    "samsum": ("{split}.csv", []),
}
NESTED = {"wmt14", "wmt16_roen", "iwslt14_deen", "iwslt2017", "opus_books"}
SUMMARIES = {"gigaword", "cnn_dailymail", "xsum", "samsum"}
# Repositories without (sound) splits, and how many training pairs become dev and test.
PARTS = {"opus_books": {"dev": 2, "test": 2}, "iwslt15_envi": {"dev": 1553}}


def _rows(name: str, split: str, source: str, target: str) -> list[tuple[str, str]]:
    count = {"iwslt15_envi": 1600, "opus_books": 100}.get(name, 7) if split == "train" else 3
    return [(f"{split} {source} {i}", f"{split} {target} {i}") for i in range(count)]


def _shards(pattern: str, rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The files of a split with their rows: one, or three."""
    count = 3 if "*" in pattern else 1
    for n in range(count):
        yield pattern.replace("*", str(n)), rows[len(rows) * n // count : len(rows) * (n + 1) // count]


def copy_of(name: str, folder: Path, source: str, target: str) -> None:
    layout, others = LAYOUTS[name]
    splits = {"multi30k": ["train", "val", "test"], "opus_books": ["train"]}.get(name, ["train", "validation", "test"])
    for split in splits:
        pairs = _rows(name, split, source, target)
        sides = [{source: first, target: second} for first, second in pairs]
        rows = [{"id": "7"} | ({"translation": row} if name in NESTED else row) for row in sides]
        for path, part in _shards(layout.replace("{split}", split), rows):
            write(folder / path, part)
    for other in others:  # has columns of its own: reading it, too, would fail
        write(folder / other / "train-00000-of-00001.parquet", [{"translation": {"xx": "a", "yy": "b"}}])
    (folder / "README.md").write_text("---\nlicense: other\n---\n# A card\n", encoding="utf-8")


@pytest.mark.parametrize("name", LAYOUTS)
def test_named_datasets(name: str, tmp_path: Path, read) -> None:
    config = named(name, tmp_path)
    copy_of(name, tmp_path, config.source, config.target)
    train = _rows(name, "train", config.source, config.target)
    parts = PARTS.get(name, {})
    expected = {}
    for split in reversed(SPLITS):
        if split == "train" or split in parts:
            cut = len(train) - parts.get(split, len(train))
            train, expected[split] = train[:cut], train[cut:]
        else:
            theirs = "val" if name == "multi30k" else "validation"
            expected[split] = _rows(name, theirs if split == "dev" else split, config.source, config.target)
    assert read(config) == expected
    assert (name in SUMMARIES) == (config.metrics == ("rouge",))
    assert config.licence


@pytest.mark.parametrize("name", ["wmt14", "iwslt2017", "opus_books"])
def test_a_pair_of_languages_is_read_in_either_direction(name: str, tmp_path: Path, read) -> None:
    copy_of(name, tmp_path, "en", "de")
    one = read(named(name, tmp_path, "dataset.source=en", "dataset.target=de"))
    other = read(named(name, tmp_path, "dataset.source=de", "dataset.target=en"))
    assert other == {split: [(target, source) for source, target in rows] for split, rows in one.items()}
    assert one["train"][0] == ("train en 0", "train de 0")


def test_every_dataset_of_the_hub_is_covered() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (CONF / "dataset").glob("*.yaml")}
    assert {name for name, text in texts.items() if "\nhub:\n" in text} == set(LAYOUTS)


def test_a_copy_of_the_folder_of_a_subset_will_do(tmp_path: Path, read) -> None:
    copy_of("wmt14", tmp_path, "en", "de")
    assert read(named("wmt14", tmp_path / "de-en")) == read(named("wmt14", tmp_path))


def test_identity_follows_the_files_of_the_subset(tmp_path: Path) -> None:
    copy_of("wmt14", tmp_path, "en", "de")
    first = open_source(named("wmt14", tmp_path)).identity()
    write(tmp_path / "fr-en" / "test-00000-of-00001.parquet", [{"a": "b"}])
    assert open_source(named("wmt14", tmp_path)).identity() == first
    write(tmp_path / "de-en" / "test-00002-of-00003.parquet", [{"translation": {"en": "a", "de": "b"}}])
    assert open_source(named("wmt14", tmp_path)).identity() != first


def _copy(folder: Path, files: str = "train validation test", **splits: str) -> DatasetConfig:
    """A copy of a repository whose tables have these names, and each a row of its own name."""
    for name in files.split():
        write(folder / f"{name}.jsonl", [{"en": name, "de": name}])
    hub = HUB.model_copy(update={"splits": SplitNames(**{"dev": "validation"} | splits)})
    return DatasetConfig(folder=str(folder), hub=hub, source="en", target="de")


@pytest.mark.parametrize("name", ["held", "held[:1]"])
def test_missing_splits_are_named(tmp_path: Path, name: str) -> None:
    config = _copy(tmp_path, dev=name)
    sentence = r"has no split held: .*train, validation; set dataset\.hub\.splits\.dev to .*, or cut it from train "
    require_refused(config, sentence + r"with dataset\.dev_size=1000$", split="dev")
    cut = config.model_copy(update={"dev_size": 1})
    require_refused(cut, "too much to cut from train: choose at most 0", split="dev")


@pytest.mark.parametrize("name", ["validation[:0]", "validation[:x]", "validation[5:6]"])
def test_parts_that_are_not_there_are_refused(tmp_path: Path, name: str) -> None:
    sentence = rf"has no rows in its split {re.escape(name)} \(.*\): set dataset\.hub\.splits\.dev to another"
    require_refused(_copy(tmp_path, dev=name), sentence, split="dev")


@pytest.mark.parametrize(
    ("files", "splits", "expected"),
    [
        ("train val test_2016 test_2017 mscoco", {"dev": "val", "test": "test_2017"}, "train val test_2017"),
        # Names are whole.
        ("train train-extra dev test test_b", {}, "train dev test"),
        ("train-test train dev test", {}, "train dev test"),
        ("c.train c.valid c.x", {"train": "c.tr*", "dev": "*.valid", "test": "c.x.jsonl"}, "c.train c.valid c.x"),
        ("train/0000 train/0001 val/0000 test/0000", {"dev": "v*"}, "train/0000+train/0001 val/0000 test/0000"),
    ],
)
def test_a_split_is_the_file_of_its_name(tmp_path: Path, files: str, splits: dict, expected: str, read) -> None:
    rows_of = read(_copy(tmp_path, files, **{"dev": "dev"} | splits))
    found = {split: "+".join(source for source, _ in rows) for split, rows in rows_of.items()}
    assert " ".join(found[split] for split in SPLITS) == expected


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ("train validation test_2016 test_2017", r"has no split test: .* choices: test_2016, test_2017, "),
        ("train validation a/test b/test", r"\(a/test\.jsonl and b/test\.jsonl\): set dataset\.hub\.splits\.test to"),
        ("train-test train validation", r"has no split test: .*; set dataset\.hub\.splits\.test to a name or"),
        ("train validation test-00001-of-00002", r"lacks the part 00000-of-00002 beside test-00001-of-00002\.jsonl"),
    ],
)
def test_what_may_be_several_splits_is_refused(tmp_path: Path, files: str, sentence: str) -> None:
    require_refused(_copy(tmp_path, files), sentence, split="test")
