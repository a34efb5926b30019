"""docs/results.md explains every key that a run writes, and every metric of the table."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mt.data.corpus import Corpus
from mt.decoding.load import load
from mt.evaluation.report import Changes, report
from mt.metrics import METRICS, score_names
from mt.search.config import OnlineConfig

PAGE = Path(__file__).parents[1] / "docs" / "results.md"


def documented() -> dict[str, list[str]]:
    """For each key in the first column of a table the cells of its row."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("| `")]
    return {key: cells for cells in rows for key in re.findall(r"`([^`]+)`", cells[0])}


def undocumented(keys: Iterator[str]) -> list[str]:
    """The keys that do not stand on the page, neither in full nor as a mode of a score that does."""
    known = documented()
    patterns = [re.escape(key).replace("<score>", "(.+)") for key in known if "<score>" in key]
    modes = {key: [match[1] for one in patterns if (match := re.fullmatch(one, key))] for key in {*keys} - {*known}}
    return sorted(key for key, scores in modes.items() if not {*scores} & {*known})


@pytest.mark.parametrize("run", ["trained", "trained_hard"])
def test_every_key_of_a_run_is_explained(run: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(run)
    results = json.loads((folder / "results.json").read_text())
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert undocumented(iter([*results, *results["attention"]])) == []
    assert {line["kind"] for line in lines} == {"train", "dev", "attention"}
    assert undocumented(key for line in lines for key in line if key not in ("kind", "update")) == []


def test_every_key_of_online_decoding_is_explained(trained_hard: Path, corpus: Corpus, tmp_path: Path) -> None:
    translator = load(trained_hard, device="cpu")
    results = report(translator, corpus.split("dev"), "dev", tmp_path, Changes(OnlineConfig()))
    assert {"ap", "al", "dal"} < results.keys() and undocumented(iter(results)) == []


def test_every_metric_is_explained_with_its_direction() -> None:
    keys = documented()
    for metric in METRICS.values():
        for name in score_names([metric.name]):
            assert keys[name][2].strip() == ("↑" if metric.higher_is_better else "↓"), name
