import json
from pathlib import Path

import pytest

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


@pytest.mark.slow
def test_graphs_of_int8_translate_and_are_scored(
    call, trained: Path, corpora: Path, texts: Path, tmp_path: Path
) -> None:
    for library in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(library, reason="the extra onnx is not installed")
    lines = (texts / "test.en").read_text().splitlines()
    folder = tmp_path / "int8"
    done = call("export", trained, "--out", folder, "--format", "onnx", "--precision", "int8")
    assert (done.status, done.err) == (0, "") and "step.onnx" in done.out
    written = call("translate", folder, "--engine", "onnx", stdin="".join(f"{line}\n" for line in lines))
    own = [translation.text for translation in mt.load(folder, engine="onnx").translate(lines)]
    assert (written.status, written.out.splitlines()) == (0, own)
    exact = [translation.text for translation in mt.load(trained, device="cpu").translate(lines)]
    assert sum(one == other for one, other in zip(own, exact, strict=True)) > 0.8 * len(lines)
    drawn = call("evaluate", folder, "--engine", "onnx", "--corpora", corpora, "--plot-words")
    assert drawn.status == 2 and "--engine onnx draws none: leave them out" in drawn.err
    scored = call("evaluate", folder, "--engine", "onnx", "--corpora", corpora, "--out", tmp_path / "scores")
    assert "<title>Alignments of" in (tmp_path / "scores" / "alignments" / "index.html").read_text(encoding="utf-8")
    assert scored.status == 0 and scored.out.startswith("test: beam search")
    results = json.loads((tmp_path / "scores" / "results.json").read_text())
    assert results["bleu"]["signature"] and "loss" not in results
    assert results["checkpoint"] == json.loads((trained / "results.json").read_text())["checkpoint"]
    assert len((tmp_path / "scores" / "hypotheses" / "test.txt").read_text().splitlines()) == 10


def test_average(call, run: Path, corpora: Path, tmp_path: Path) -> None:
    first, *_, last = sorted((run / "checkpoints").glob("update-*"))
    done = call("average", first, last, "--out", tmp_path / "mean")
    updates = [int(path.name.removeprefix("update-")) for path in (first, last)]
    assert done.out == f"average of updates {updates[0]}, {updates[1]}\n\n{tmp_path}/mean\n"
    assert call("evaluate", tmp_path / "mean", "--corpora", corpora).status == 0
    assert (tmp_path / "mean/evaluations/test-best-beam/results.json").exists()
    again = call("average", first, last, "--out", tmp_path / "mean")
    assert "exists, and a checkpoint is not written over" in again.err and again.status == 2
