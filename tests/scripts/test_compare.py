import json
import shutil
from pathlib import Path

import pytest


@pytest.fixture
def runs(trained: Path, trained_hard: Path, tmp_path: Path) -> Path:
    """A folder with two finished runs below it."""
    for run, name in ((trained, "general"), (trained_hard, "mocha")):
        shutil.copytree(run, tmp_path / "runs" / name / "today", symlinks=True)
    return tmp_path / "runs"


def test_runs_below_a_folder(call, runs: Path, corpora: Path, tmp_path: Path) -> None:
    done = call("compare", runs, "--corpora", corpora, "--out", tmp_path / "out", "--baseline", "mocha")
    assert (done.status, done.err) == (0, "")
    table = (tmp_path / "out/table.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")]
    assert [line.split("|")[1].strip() for line in done.out.splitlines() if line.startswith("|")] == cells
    assert done.out.endswith(f"\n\n{tmp_path / 'out/index.html'}\n")
    rows = json.loads((tmp_path / "out/comparison.json").read_text())["rows"]
    folders = sorted(runs.iterdir())
    first, second = (json.loads((path / "today/checkpoints/best/config.json").read_text()) for path in folders)
    names = [first["attention"]["name"], f"{second['attention']['name']} encoder=lstm"]
    assert [row["name"] for row in rows] == names
    for row, folder in zip(rows, folders, strict=True):
        results = json.loads((folder / "today/results.json").read_text())
        assert row["scores"]["BLEU"]["score"] == pytest.approx(results["bleu"]["score"])
        assert row["scores"]["chrF"]["score"] == pytest.approx(results["chrf"]["score"])
        assert row["facts"]["perplexity"] == results["perplexity"]
    assert [row["scores"]["BLEU"]["p_value"] is None for row in rows] == [False, True]
    page = (tmp_path / "out/index.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") >= 2 and page.count("<h2>Test sentence") == 4
    assert page.count("<polyline") == 2 * len(["loss", "bleu", "chrf"])


def test_an_unknown_baseline(call, runs: Path, corpora: Path, tmp_path: Path) -> None:
    done = call("compare", runs, "--corpora", corpora, "--out", tmp_path / "out", "--baseline", "mocah")
    assert done.status == 2
    assert done.err.startswith("error: no run is mocah, to be the baseline: did you mean mocha?")
    assert not (tmp_path / "out").exists()


def test_no_runs(call, tmp_path: Path) -> None:
    done = call("compare", tmp_path)
    assert done.status == 2 and f"error: {tmp_path} holds no finished run" in done.err


def test_runs_with_other_test_text(call, runs: Path, texts: Path, corpora: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(texts, tmp_path / "moved"))
    lines = (moved / "test.de").read_text().splitlines()
    (moved / "test.de").write_text("".join(f"{line}\n" for line in reversed(lines)))
    path = runs / "mocha/today/checkpoints/best/config.json"
    config = json.loads(path.read_text())
    config["dataset"]["folder"] = str(moved)
    path.write_text(json.dumps(config))
    done = call("compare", runs, "--corpora", corpora, "--out", tmp_path / "out")
    assert done.status == 2
    assert done.err.endswith(
        f"error: {runs}/general/today and {runs}/mocha/today were tested on different text: compare runs of one test "
        "split\n"
    )
