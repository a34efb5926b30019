import json
import re
import shutil
from pathlib import Path

import pytest

from tests.refusals.sentences import sign


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
    (data,) = re.findall(r'id="data">(.*?)</script>', page)
    drawn = [[len(record["rows"]) > 0 for record in run["records"]] for run in json.loads(data)["runs"]]
    assert drawn == [[True] * 4] * 2
    assert page.count(' over updates" src="data:image/png;base64,') == len(["loss", "bleu", "chrf"])


def move_test(run: Path, texts: Path, moved: Path) -> None:
    """Gives a run a copy of its data whose test split has the same lines in another order."""
    shutil.copytree(texts, moved, dirs_exist_ok=True)
    for side in ("en", "de"):
        lines = (texts / f"test.{side}").read_text().splitlines()
        (moved / f"test.{side}").write_text("".join(f"{line}\n" for line in reversed(lines)))
    for path in {path.resolve() for path in run.glob("checkpoints/*/config.json")}:
        config = json.loads(path.read_text())
        config["dataset"]["folder"] = str(moved)
        path.write_text(json.dumps(config))
        sign(path.parent)


def test_runs_that_are_left_out_are_named(call, runs: Path, corpora: Path, tmp_path: Path) -> None:
    for name in ("begun", "not_tested"):
        shutil.copytree(runs / "general/today", runs / name / "today", symlinks=True)
        (runs / name / "today/results.json").unlink()
    done = call("compare", runs, "--corpora", corpora, "--out", tmp_path / "out", "--sentences", 0)
    folders = f"{runs}/begun/today, {runs}/not_tested/today"
    assert (done.status, done.err) == (0, f"note: left out, since they have no results.json: {folders}\n")


def test_runs_whose_test_split_has_changed_since(call, runs: Path, texts: Path, corpora, tmp_path) -> None:
    general, mocha = runs / "general/today", runs / "mocha/today"
    out = ["--corpora", corpora, "--out", tmp_path / "out"]
    move_test(mocha, texts, tmp_path / "moved")
    done = call("compare", runs, *out)
    assert f"error: {general} and {mocha} were tested on different text: compare runs of one test split" in done.err
    move_test(general, texts, tmp_path / "moved")
    done = call("compare", runs, *out)
    assert done.status == 2 and not (tmp_path / "out").exists()
    remedy = f"restore the data, or evaluate again by `mt evaluate {general} --split test --out {general}`"
    sentence = f"error: {general} was scored on another test split than its data hold now: {remedy}"
    assert done.err.splitlines()[-1] == sentence
    # Hypotheses and their references are known by digests.
    earlier = json.loads((general / "results.json").read_text())
    references = tmp_path / "moved/test.de"
    done = call("score", general / "hypotheses/test.txt", references)
    assert done.status == 2 and f"another test split than {references} holds now" in done.err
    assert call("score", general / "hypotheses/test.txt", texts / "test.de").status == 0
    done = call("evaluate", general, "--corpora", corpora)
    assert f"note: the test split has changed since {general}/results.json was written" in done.err
    # The command of the refusal makes both comparable, and keeps what is known of the training.
    for run in (general, mocha):
        done = call("evaluate", run, "--corpora", corpora, "--split", "test", "--out", run)
        assert (done.status, done.err) == (0, "")
    later = json.loads((general / "results.json").read_text())
    assert later["scored_on"] != earlier["scored_on"]
    assert later["bleu"]["score"] == pytest.approx(earlier["bleu"]["score"])
    assert later["training_seconds"] == earlier["training_seconds"] and later.keys() == earlier.keys()
    assert call("compare", runs, *out).status == 0
    assert call("score", general / "hypotheses/test.txt", references).status == 0


def test_an_online_evaluation_of_a_test_set_that_has_changed_since(call, runs: Path, corpora, tmp_path) -> None:
    run = runs / "mocha/today"
    assert call("evaluate", run, "--corpora", corpora, "--search", "online").status == 0
    path = run / "evaluations/test-best-online/results.json"
    results = json.loads(path.read_text())
    results["scored_on"]["sources"] = "0" * 64
    path.write_text(json.dumps(results))
    done = call("compare", run, "--corpora", corpora, "--out", tmp_path / "out")
    assert f"error: {path.parent} was scored on another test split than its data hold now" in done.err
    # Without latency it is none of the points that are compared.
    measures = ("ap", "al", "laal", "dal", "yaal", "erasure")
    path.write_text(json.dumps({key: value for key, value in results.items() if key not in measures}))
    assert call("compare", run, "--corpora", corpora, "--out", tmp_path / "out").status == 0


def test_runs_of_earlier_versions_are_compared_with_one_note(call, runs: Path, corpora: Path, tmp_path: Path) -> None:
    paths = [*runs.glob("*/today/results.json")]
    for path in paths:
        results = json.loads(path.read_text())
        del results["scored_on"]
        path.write_text(json.dumps(results))
    done = call("compare", runs, "--corpora", corpora, "--out", tmp_path / "out")
    assert done.status == 0 and done.err.count("note:") == 1
    assert all(str(path.parent) in done.err for path in paths)
