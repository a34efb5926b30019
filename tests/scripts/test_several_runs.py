"""Scripts that take several runs: an ensemble, or an average."""

import json
from pathlib import Path

import mt

SOURCE = "two cats see houses\n\nthe green birds find streets\n"


def test_translate(call, trained: Path, trained_hard: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text(SOURCE)
    once = call("translate", trained, tmp_path / "text")
    assert call("translate", trained, trained, tmp_path / "text") == once
    assert call("translate", trained, trained, stdin=SOURCE) == once
    assert call("translate", trained, trained, "-", stdin=SOURCE) == once
    together = mt.load([trained, trained_hard], device="cpu").translate(SOURCE.splitlines())
    mixed = call("translate", trained, trained_hard, "--device", "cpu", stdin=SOURCE)
    assert mixed.out.splitlines() == [one.text for one in together] and (mixed.err, mixed.status) == ("", 0)


def test_evaluate(call, run: Path, corpora: Path) -> None:
    assert call("evaluate", run, "--corpora", corpora).status == 0
    done = call("evaluate", run, run, "--corpora", corpora)
    alone = json.loads((run / "evaluations/test-best-beam/results.json").read_text())
    both = json.loads((run / "evaluations/ensemble-of-2-test-best-beam/results.json").read_text())
    assert done.out.startswith("test: beam search, beam_size 3, soft attention, ensemble of 2 runs\n")
    assert both["bleu"] == alone["bleu"] and abs(both["loss"] - alone["loss"]) < 1e-5
    assert both["ensemble"] == [{"run": str(run)} | alone["checkpoint"]] * 2 and "checkpoint" not in both


def test_average(call, run: Path, corpora: Path, tmp_path: Path) -> None:
    first, *_, last = sorted((run / "checkpoints").glob("update-*"))
    done = call("average", first, last, "--out", tmp_path / "mean")
    updates = [int(path.name.removeprefix("update-")) for path in (first, last)]
    assert done.out == f"average of updates {updates[0]}, {updates[1]}\n\n{tmp_path}/mean\n"
    assert call("evaluate", tmp_path / "mean", "--corpora", corpora).status == 0
    assert (tmp_path / "mean/evaluations/test-best-beam/results.json").exists()
    again = call("average", first, last, "--out", tmp_path / "mean")
    assert "exists, and a checkpoint is not written over" in again.err and again.status == 2
