from pathlib import Path

import mt


def test_an_export_works_with_every_script(call, trained: Path, corpora: Path, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    done = call("export", trained, "--out", folder, "--precision", "bf16")
    assert (done.status, done.err) == (0, "") and done.out.endswith(f"bytes\n\n{folder}\n")
    assert all(path.name in done.out for path in folder.iterdir())
    written = call("translate", folder, "--device", "cpu", stdin="two cats see houses\n")
    assert written.out == mt.load(folder, device="cpu").translate("two cats see houses").text + "\n"
    (tmp_path / "source").write_text("two cats\n")
    (tmp_path / "target").write_text("zwei Katzen\n")
    assert "0-0" in call("align", folder, "--source", tmp_path / "source", "--target", tmp_path / "target").out
    scored = call("evaluate", folder, "--device", "cpu", "--corpora", corpora, "--out", tmp_path / "scores")
    assert scored.status == 0 and "bleu" in scored.out


def test_average(call, run: Path, corpora: Path, tmp_path: Path) -> None:
    first, *_, last = sorted((run / "checkpoints").glob("update-*"))
    done = call("average", first, last, "--out", tmp_path / "mean")
    updates = [int(path.name.removeprefix("update-")) for path in (first, last)]
    assert done.out == f"average of updates {updates[0]}, {updates[1]}\n\n{tmp_path}/mean\n"
    assert call("evaluate", tmp_path / "mean", "--corpora", corpora).status == 0
    assert (tmp_path / "mean/evaluations/test-best-beam/results.json").exists()
    again = call("average", first, last, "--out", tmp_path / "mean")
    assert "exists, and a checkpoint is not written over" in again.err and again.status == 2
