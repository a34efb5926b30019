"""What is asked of the hub, and which state of a repository a corpus is made of."""

import fnmatch
import json
import shutil
from pathlib import Path
from typing import Any

import huggingface_hub
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
    for name in ("train", "validation", "test"):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return DatasetConfig(folder=str(folder), hub=HUB, source="en", target="de")


def _hub(monkeypatch: pytest.MonkeyPatch, folder: Path, commits: dict[str, str], asked: list | None = None) -> None:
    """A hub whose repository is `folder`, at a commit for each branch: what it downloads is copied into a cache."""

    def download(name: str, *, repo_type: str, revision: str, allow_patterns: list[str]) -> str:
        if asked is not None:
            asked.append((name, repo_type, revision, allow_patterns))
        snapshot = folder.parent / "cache" / commits.get(revision, revision)
        for path in folder.rglob("*"):
            inside = path.relative_to(folder).as_posix()
            if path.is_file() and any(fnmatch.fnmatchcase(inside, pattern) for pattern in allow_patterns):
                (snapshot / inside).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, snapshot / inside)
        return str(snapshot)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)


def test_the_hub_is_asked_for_the_subset_and_the_revision(tmp_path: Path, monkeypatch, read) -> None:
    (tmp_path / "copy").mkdir()
    _copy(tmp_path / "copy/de-en", [{"en": "a", "de": "b"}])
    asked: list = []
    _hub(monkeypatch, tmp_path / "copy", {}, asked)
    hub = PAIR.model_copy(update={"revision": "abc123"})
    assert read(DatasetConfig(hub=hub, source="en", target="de"))["dev"] == [("a", "b")]
    assert {request[:3] for request in asked} == {("somebody/captions", "dataset", "abc123")}
    assert asked[0][3][0] == "en-de/*.tsv"
    assert asked[1][3][0] == "de-en/*.tsv"
    assert len(asked) == 2


def test_a_pair_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "copy").mkdir()
    _copy(tmp_path / "copy/de-en", [{"en": "a", "de": "b"}])
    _hub(monkeypatch, tmp_path / "copy", {"main": "1" * 40})
    source = open_source(DatasetConfig(hub=PAIR, source="en", target="ja"))
    with pytest.raises(UserError, match=r"somebody/captions has no tables in en-ja or ja-en: set dataset\.source and"):
        len(list(source.splits["dev"].read()))


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
    _copy(tmp_path / "copy", [{"en": "a", "de": "b"}])
    _hub(monkeypatch, tmp_path / "copy", {"main": commit})
    by_branch = open_source(DatasetConfig(hub=HUB, source="en", target="de")).identity()
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: pytest.fail("asked"))
    hub = HUB.model_copy(update={"revision": commit})
    assert open_source(DatasetConfig(hub=hub, source="en", target="de")).identity() == by_branch


def test_an_unreachable_hub_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*arguments: Any, **options: Any) -> None:
        raise ConnectionError("Couldn't reach 'somebody/captions' on the Hub")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    sentence = r"^somebody/captions could not be loaded \(Couldn't reach 'somebody/captions' on the Hub\): "
    with pytest.raises(UserError, match=sentence + r"where the hub cannot be reached, set dataset\.folder=DIR to"):
        len(list(open_source(DatasetConfig(hub=HUB, source="en", target="de")).splits["train"].read()))
