"""What is asked of the hub, and which state of a repository a corpus is made of."""

import fnmatch
import shutil
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from data_prep.sources import open_source
from mt.data.dataset import DatasetConfig, HubConfig, SplitNames
from tests.data_prep.small import prepared, require_refused
from tests.data_prep.sources.forms import write

HUB = HubConfig(id="somebody/captions", splits=SplitNames(dev="validation"))
PAIR = HUB.model_copy(update={"config": "{source}-{target}"})


def _copy(folder: Path, *rows: str) -> None:
    """Tables of these words, which are both sides of a pair."""
    for name in ("train", "validation", "test"):
        write(folder / f"{name}.jsonl", [{"en": row, "de": row} for row in rows])


def _config(hub: HubConfig = HUB, target: str = "de") -> DatasetConfig:
    plain = {"hub": hub, "source": "en", "target": target, "workers": 1, "tokenizer": {"model_type": "char"}}
    return DatasetConfig.model_validate(plain)


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
    _copy(tmp_path / "copy/de-en", "a")
    asked: list = []
    _hub(monkeypatch, tmp_path / "copy", {}, asked)
    hub = PAIR.model_copy(update={"revision": "abc123"})
    assert read(_config(hub))["dev"] == [("a", "a")]
    assert {request[:3] for request in asked} == {("somebody/captions", "dataset", "abc123")}
    assert asked[0][3][0] == "en-de/*.tsv"
    assert asked[1][3][0] == "de-en/*.tsv"
    assert len(asked) == 2


def test_a_pair_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _copy(tmp_path / "copy/de-en", "a")
    _hub(monkeypatch, tmp_path / "copy", {"main": "1" * 40})
    require_refused(_config(PAIR, "ja"), r"somebody/captions has no tables in en-ja or ja-en: set dataset\.source and")


def test_another_commit_of_a_branch_makes_another_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "copy"
    _copy(copy, "a house")
    commits = {"main": "1" * 40}
    _hub(monkeypatch, copy, commits)
    first, again = (prepared(_config(), tmp_path).meta for _ in range(2))
    _copy(copy, "a house", "new")
    commits["main"] = "2" * 40
    second = prepared(_config(), tmp_path).meta
    assert first == again and first["fingerprint"] != second["fingerprint"] and second["counts"]["train"] == 2


def test_a_commit_needs_no_hub_to_be_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = "0123456789abcdef" * 2 + "01234567"
    _copy(tmp_path / "copy", "a")
    _hub(monkeypatch, tmp_path / "copy", {"main": commit})
    by_branch = open_source(_config()).identity()
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: pytest.fail("asked"))
    assert open_source(_config(HUB.model_copy(update={"revision": commit}))).identity() == by_branch


def test_an_unreachable_hub_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*arguments: Any, **options: Any) -> None:
        raise ConnectionError("Couldn't reach 'somebody/captions' on the Hub")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    sentence = r"^somebody/captions could not be loaded \(Couldn't reach 'somebody/captions' on the Hub\): "
    require_refused(_config(), sentence + r"where the hub cannot be reached, set dataset\.folder=DIR to")
