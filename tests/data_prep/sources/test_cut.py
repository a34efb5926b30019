"""Dev and test cut from train."""

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from data_prep.generated import phrasebook
from data_prep.sources import open_source
from mt.data.corpus import SPLITS, Example
from mt.data.dataset import CleaningConfig, DatasetConfig
from tests.data_prep.small import pairs_of, prepared, refusal, text_config, write_texts
from tests.data_prep.sources.forms import write


def _rows(count: int) -> list[tuple[str, str]]:
    return [(f"one {number}", f"eins {number}") for number in range(count)]


def _config(folder: Path, **settings) -> DatasetConfig:
    return text_config(folder, **{"dev_size": 30, "test_size": 20} | settings)


def _read(config: DatasetConfig) -> dict[str, list[tuple[str, str]]]:
    return {split: [example[:2] for example in pairs_of(config, split)] for split in SPLITS}


@pytest.mark.parametrize("hub", [None, {"id": "somebody/captions"}])
def test_every_pair_comes_to_one_split_in_order(tmp_path: Path, hub: dict | None) -> None:
    rows = _rows(400)
    write(tmp_path / "train.jsonl", [{"en": source, "de": target} for source, target in rows])
    result = _read(_config(tmp_path, hub=hub))
    assert [len(result[split]) for split in SPLITS] == [350, 30, 20]
    assert sorted(pair for part in result.values() for pair in part) == sorted(rows)
    assert all(part == sorted(part, key=rows.index) for part in result.values())
    # Not the first and not the last ones: the places are spread.
    assert 100 < sum(map(rows.index, result["dev"])) / 30 < 300
    # The same whatever holds the text.
    write_texts(tmp_path / "other", train=rows)
    assert _read(_config(tmp_path / "other")) == result


def test_a_corpus_that_grows_keeps_its_splits(tmp_path: Path) -> None:
    write_texts(tmp_path, train=_rows(1000))
    before = _read(_config(tmp_path))
    write_texts(tmp_path, train=_rows(1200))
    after = _read(_config(tmp_path))
    assert not {*before["dev"]} & {*after["test"]} and not {*before["test"]} & {*after["dev"]}
    for split, size in (("dev", 30), ("test", 20)):
        assert len({*after[split]} - {*before[split]}) <= size // 2  # a sixth is expected
        assert {*after[split]} - {*before[split]} <= {*_rows(1200)[1000:]}  # none of train


def test_dev_does_not_depend_on_whether_test_is_cut(tmp_path: Path) -> None:
    write_texts(tmp_path, train=_rows(400))
    both = _read(_config(tmp_path))
    write_texts(tmp_path, test=[("a", "b")])
    alone = _read(_config(tmp_path, test_size=None))
    assert alone["dev"] == both["dev"]
    assert alone["test"] == [("a", "b")]
    assert len(alone["train"]) == 370


def test_equal_pairs_stay_together(tmp_path: Path) -> None:
    draws = random.Random(1)
    rows = [pair for pair in _rows(300) for _ in range(draws.randint(1, 9))]
    draws.shuffle(rows)
    write_texts(tmp_path, train=rows)
    result = _read(_config(tmp_path, dev_size=100, test_size=50))
    assert 100 <= len(result["dev"]) < 109 and 50 <= len(result["test"]) < 59
    counts = Counter(rows)
    for part in result.values():
        assert all(counts[pair] == count for pair, count in Counter(part).items())
    assert sum(map(len, result.values())) == len(rows)


def test_what_dev_and_test_could_not_hold_stays_in_train(tmp_path: Path) -> None:
    rows = [("", f"eins {number}") for number in range(100)] + [(f"one {number}", " ") for number in range(100)]
    rows += [(f"long {number} " * 20, f"lang {number} " * 20) for number in range(100)] + _rows(100)
    write_texts(tmp_path, train=rows)
    made = prepared(_config(tmp_path, dev_size=10, test_size=10, cleaning={"max_evaluation_length": 10}), tmp_path)
    texts = [text for split in ("dev", "test") for text in made.split(split).column("source")]
    assert len(texts) == 20 and all(text.startswith("one ") for text in texts)
    assert made.meta["dropped"] == {"empty": 200}


@pytest.mark.parametrize(("size", "split"), [(40, "dev"), (60, "test")])
def test_more_than_a_quarter_is_refused(tmp_path: Path, size: int, split: str) -> None:
    write_texts(tmp_path, train=_rows(100))
    sizes = {"dev_size": 5, "test_size": 5} | {f"{split}_size": size}
    sentence = rf"dataset\.{split}_size={size} is too much to cut from train: choose at most 2\d, which is about a "
    refused = refusal(_config(tmp_path, **sizes), tmp_path)
    assert re.fullmatch(sentence + rf"quarter, or give {split} files of its own", refused)
    assert not (tmp_path / "corpora").exists()


def test_the_choice_is_the_same_everywhere(tmp_path: Path) -> None:
    """Literals: a corpus prepared on another machine, or next year, is cut alike."""
    write_texts(tmp_path, train=_rows(30))
    result = _read(_config(tmp_path, dev_size=2, test_size=2))
    assert [source for source, _ in result["dev"]] == ["one 12", "one 21"]
    assert [source for source, _ in result["test"]] == ["one 4", "one 5"]


@pytest.fixture
def config(tmp_path: Path) -> DatasetConfig:
    for split in SPLITS:
        write(tmp_path / f"{split}.jsonl", [{"article": "one two three  four", "highlights": "eins zwei drei"}])
    return DatasetConfig(folder=str(tmp_path), source="article", target="highlights")


def test_sources_are_cut_everywhere_and_targets_in_training(config: DatasetConfig) -> None:
    cut = config.model_copy(update={"cleaning": CleaningConfig(truncate_source=3, truncate_target=2)})
    source = open_source(cut)
    whole = open_source(config)
    assert pairs_of(cut) == [Example("one two three", "eins zwei")]
    assert pairs_of(cut, "dev") == pairs_of(cut, "test") == [Example("one two three", "eins zwei drei")]
    assert pairs_of(config) == [Example("one two three  four", "eins zwei drei")]
    assert (source.identity(), source.notes()) == (whole.identity(), whole.notes())
    assert source.splits["dev"].sides == whole.splits["dev"].sides


def test_links_stay_with_pairs_that_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    generated = phrasebook.generate(sizes={"train": 5, "dev": 100, "test": 5})
    monkeypatch.setattr(phrasebook, "generate", lambda: generated)
    limits = CleaningConfig(truncate_source=5)
    configs = [DatasetConfig(generator="phrasebook", cleaning=cleaning) for cleaning in (limits, CleaningConfig())]
    seen = set()
    for cut, example in zip(*(pairs_of(config, "dev") for config in configs), strict=True):
        seen.add(cut == example)
        assert cut == example or (len(cut.source.split()) == 5 and cut.links == "")
    assert seen == {True, False}
