"""What is asked of the hub, and which state of a repository a corpus is made of."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import pytest

from data_prep.prepare import prepare
from data_prep.sources import open_source
from mt.data.corpus import Corpus
from mt.data.dataset import DatasetConfig, HubConfig, SplitNames
from mt.errors import UserError

HUB = HubConfig(id="somebody/captions", splits=SplitNames(dev="validation"))
PAIR = HUB.model_copy(update={"config": "{source}-{target}"})


def _copy(folder: Path, rows: list[dict[str, Any]]) -> DatasetConfig:
    folder.mkdir(exist_ok=True)
    for name in ("train", "val", "test"):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return DatasetConfig(folder=str(folder), hub=HUB, source="en", target="de")


def _hub(monkeypatch: pytest.MonkeyPatch, folder: Path, commits: dict[str, str], missing: Sequence[str] = ()) -> None:
    """A hub whose repository is `folder`, at a commit for each branch; folders in `missing` are out of reach."""
    load = datasets.load_dataset_builder

    def reach(path: str, data_dir: str | None, revision: str) -> datasets.DatasetBuilder:
        if data_dir in missing:
            raise ConnectionError("out of reach")
        builder = load(str(folder), data_dir=data_dir)
        builder.hash = commits[revision]
        return builder

    monkeypatch.setattr(datasets, "load_dataset_builder", reach)


def test_the_hub_is_asked_for_the_subset_and_the_revision(tmp_path: Path, monkeypatch, read) -> None:
    _copy(tmp_path / "de-en", [{"en": "a", "de": "b"}])
    load = datasets.load_dataset_builder
    asked = []

    def reach(path: str, data_dir: str, revision: str) -> datasets.DatasetBuilder:
        asked.append((path, data_dir, revision))
        return load(str(tmp_path), data_dir=data_dir)

    monkeypatch.setattr(datasets, "load_dataset_builder", reach)
    hub = PAIR.model_copy(update={"revision": "abc123"})
    assert read(DatasetConfig(hub=hub, source="en", target="de"))["dev"] == [("a", "b")]
    assert asked == [("somebody/captions", pair, "abc123") for pair in ("en-de", "de-en")]


def test_a_pair_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*arguments: Any, **options: Any) -> None:
        raise datasets.data_files.EmptyDatasetError(f"The directory at {options['data_dir']} is empty")

    monkeypatch.setattr(datasets, "load_dataset_builder", load)
    source = open_source(DatasetConfig(hub=PAIR, source="en", target="ja"))
    with pytest.raises(UserError, match=r"somebody/captions has no tables in en-ja or ja-en: set dataset\.source and"):
        source.splits["dev"].size()


def test_another_commit_of_a_branch_makes_another_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "copy"
    _copy(copy, [{"en": "a house", "de": "ein Haus"}])
    commits = {"main": "1" * 40}
    _hub(monkeypatch, copy, commits)
    plain = {"hub": HUB, "source": "en", "target": "de", "workers": 1, "tokenizer": {"model_type": "char"}}
    config = DatasetConfig.model_validate(plain)
    first = prepare(config, tmp_path / "corpora", progress=False)
    assert prepare(config, tmp_path / "corpora", progress=False) == first
    _copy(copy, [{"en": "a house", "de": "ein Haus"}, {"en": "new", "de": "neu"}])
    commits["main"] = "2" * 40
    second = prepare(config, tmp_path / "corpora", progress=False)
    assert second != first
    assert Corpus.open(second).meta["counts"]["train"] == 2


def test_a_commit_needs_no_hub_to_be_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = "0123456789abcdef" * 2 + "01234567"
    _copy(tmp_path, [{"en": "a", "de": "b"}])
    _hub(monkeypatch, tmp_path, {"main": commit})
    by_branch = open_source(DatasetConfig(hub=HUB, source="en", target="de")).identity()
    monkeypatch.setattr(datasets, "load_dataset_builder", lambda *_, **__: pytest.fail("asked"))
    hub = HUB.model_copy(update={"revision": commit})
    assert open_source(DatasetConfig(hub=hub, source="en", target="de")).identity() == by_branch


def test_out_of_reach_the_cache_may_have_the_pair_the_other_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _copy(tmp_path / "de-en", [{"en": "a", "de": "b"}])
    _hub(monkeypatch, tmp_path, {"main": "1" * 40}, missing=["en-de"])
    source = open_source(DatasetConfig(hub=PAIR, source="en", target="de"))
    assert source.identity().endswith(" " + "1" * 40)
    assert source.splits["dev"].size() == 1


def test_tables_that_change_their_roles_make_another_corpus(tmp_path: Path) -> None:
    config = _copy(tmp_path, [{"en": "a", "de": "b"}])
    (tmp_path / "val.jsonl").write_text('{"en": "c", "de": "d"}\n', encoding="utf-8")
    first = open_source(config).identity()
    (tmp_path / "val.jsonl").rename(tmp_path / "x")
    (tmp_path / "test.jsonl").rename(tmp_path / "val.jsonl")
    (tmp_path / "x").rename(tmp_path / "test.jsonl")
    assert open_source(config).identity() != first


def test_an_unreachable_hub_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def load(*arguments: Any, **options: Any) -> None:
        logging.getLogger("huggingface_hub").warning("Retrying in 1s")
        raise ConnectionError("Couldn't reach 'somebody/captions' on the Hub")

    monkeypatch.setattr(datasets, "load_dataset_builder", load)
    sentence = r"^somebody/captions could not be loaded \(Couldn't reach 'somebody/captions' on the Hub\): "
    with pytest.raises(UserError, match=sentence + r"where the hub cannot be reached, set dataset\.folder=DIR to"):
        open_source(DatasetConfig(hub=HUB, source="en", target="de")).splits["train"].size()
    logging.getLogger("huggingface_hub").warning("heard again")
    assert caplog.messages == ["heard again"]
