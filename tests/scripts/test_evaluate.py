import json
import shutil
from pathlib import Path

import pytest
import torch

import mt
from mt.decoding.confidence import FILE, Confidence, features_of, load_calibration
from tests.refusals.sentences import sign


def test_the_test_split_scores_as_training_said(call, run: Path, corpora: Path) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    done = call("evaluate", run, "--corpora", corpora)
    assert done.status == 0
    results = json.loads((run / "evaluations/test-best-beam/results.json").read_text())
    trained = json.loads((run / "results.json").read_text())
    for name in ("bleu", "chrf", "search", "parameters"):
        assert results[name] == trained[name]
    assert results["loss"] == pytest.approx(trained["loss"])
    assert results["checkpoint"] == trained["checkpoint"]
    assert f"  bleu {results['bleu']['score']:36.2f}\n" in done.out and "nrefs:" not in done.out
    assert done.out.endswith(f"\n\n{run}/evaluations/test-best-beam\n")
    assert all(path.read_bytes() == content for path, content in before.items())
    written = run / "evaluations/test-best-beam/hypotheses/test.txt"
    assert written.read_bytes() == (run / "hypotheses/test.txt").read_bytes()


def test_another_split_and_search(call, run: Path, corpora: Path, tmp_path: Path) -> None:
    call("evaluate", run, "--corpora", corpora, "--split", "dev", "--search", "greedy", "--checkpoint", "last")
    results = json.loads((run / "evaluations/dev-last-greedy/results.json").read_text())
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    last = [line for line in lines if line["kind"] == "dev"][-1]
    assert results["bleu"]["score"] == pytest.approx(last["bleu"]) and results["loss"] == pytest.approx(last["loss"])
    assert results["checkpoint"] == {"name": "last", "update": last["update"]} and results["split"] == "dev"
    wide = ["--beam", 7, "--length-penalty", 0, "--min-length", 2, "--max-length", 3, "--no-repeat-ngram-size", 1]
    drawing = ["--out", tmp_path / "wide", "--plot-words", "--plot-format", "svg"]
    call("evaluate", run, "--corpora", corpora, *wide, *drawing)
    drawn = sorted(path.suffix for path in (tmp_path / "wide/alignments").glob("0000.*"))
    assert drawn == [".npz", ".png", ".svg"]
    search = json.loads((tmp_path / "wide/results.json").read_text())["search"]
    assert (search["name"], search["beam_size"], search["length_penalty"]) == ("beam", 7, 0.0)
    assert (search["min_length"], search["max_length"], search["no_repeat_ngram_size"]) == (2, 3, 1)


def test_evaluations_that_differ_have_folders_of_their_own(call, run: Path, corpora: Path) -> None:
    sampling = ["--search", "sample", "--samples", 4, "--utility", "chrf"]
    for options in (sampling, ["--replace-unknown"], ["--precision", "int8", "--device", "cpu"]):
        assert call("evaluate", run, "--corpora", corpora, *options).status == 0
    sampled = "test-best-sample-samples=4-temperature=1.0-seed=1-utility=chrf"
    names = sorted(path.name for path in (run / "evaluations").iterdir())
    assert names == ["test-best-beam-int8", "test-best-beam-replace_unknown", sampled]
    rounded = json.loads((run / "evaluations/test-best-beam-int8/results.json").read_text())
    loss = json.loads((run / "results.json").read_text())["loss"]
    replaced = json.loads((run / "evaluations/test-best-beam-replace_unknown/results.json").read_text())
    assert replaced["replaced_unknown"] == 0
    # A run of a GPU has its loss from there.
    expected = pytest.approx(loss, rel=1e-5) if torch.cuda.is_available() else loss
    assert rounded["precision"] == "int8" and rounded["loss"] == expected


def test_a_corpus_that_has_changed_is_refused(call, run: Path, texts: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(texts, tmp_path / "moved"))
    (moved / "train.en").write_text("quite other words\n" * 3)
    (moved / "train.de").write_text("ganz andere Wörter\n" * 3)
    path = (run / "checkpoints/best").resolve()
    config = json.loads((path / "config.json").read_text())
    config["dataset"]["folder"] = str(moved)
    (path / "config.json").write_text(json.dumps(config))
    sign(path)
    done = call("evaluate", run, "--corpora", tmp_path / "corpora")
    assert done.status == 2 and "would now be prepared with another vocabulary" in done.err


def test_online_decodes_have_a_log_with_which_their_latency_can_be_scored(call, trained_hard, corpora, tmp_path):
    for unit in ("word", "char", "subword"):
        chosen = ["--search", "online", "--latency-unit", unit, "--out", tmp_path / unit]
        assert call("evaluate", trained_hard, "--corpora", corpora, *chosen).status == 0
        results = json.loads((tmp_path / unit / "results.json").read_text())
        model = [*(["--spm-model", trained_hard / "checkpoints/best/tokenizer.model"] if unit == "subword" else [])]
        log = tmp_path / unit / "hypotheses/instances.log"
        done = call("score", "--task", "simultaneous", "--latency-unit", unit, "--json", *model, "--log", log)
        scores = json.loads(done.out)
        assert {"bleu", "al", "laal", "dal", "ap"} <= scores.keys()
        assert {name: results[name] for name in scores} == scores
        assert f"|unit:{unit}|" in scores["al"]["signature"]
    lines = [json.loads(line) for line in (tmp_path / "word/hypotheses/instances.log").read_text().splitlines()]
    hypotheses = (tmp_path / "word/hypotheses/test.txt").read_text().splitlines()
    assert [line["prediction"] for line in lines] == hypotheses
    assert all(len(line["delays"]) == len(line["prediction"].split()) for line in lines)
    # A log does not outlive its hypotheses.
    call("evaluate", trained_hard, "--corpora", corpora, "--search", "greedy", "--out", tmp_path / "word")
    assert not (tmp_path / "word/hypotheses/instances.log").exists()


def test_an_ensemble_is_decoded_and_named(call, run: Path, corpora: Path) -> None:
    assert call("evaluate", run, "--corpora", corpora).status == 0
    done = call("evaluate", run, run, "--corpora", corpora)
    alone = json.loads((run / "evaluations/test-best-beam/results.json").read_text())
    both = json.loads((run / "evaluations/ensemble-of-2-test-best-beam/results.json").read_text())
    assert done.out.startswith("test: beam search, beam_size 3, soft attention, ensemble of 2 runs\n")
    assert both["bleu"] == alone["bleu"] and abs(both["loss"] - alone["loss"]) < 1e-5
    assert both["ensemble"] == [{"run": str(run)} | alone["checkpoint"]] * 2 and "checkpoint" not in both


def test_evaluation_of_dev_makes_the_table_of_a_run(call, run: Path, corpora: Path, tmp_path: Path) -> None:
    """Later evaluations report what it is worth. Samples at a high temperature err, where the small run does not."""
    options = ["--corpora", corpora, "--search", "sample", "--samples", "1", "--temperature", "2"]
    done = call("evaluate", run, *options, "--split", "dev", "--calibrate", "--out", tmp_path / "dev")
    assert done.status == 0, done.err
    table = load_calibration(run)
    assert table is not None and table.judged == "words"
    in_sample = json.loads((tmp_path / "dev/results.json").read_text())
    assert in_sample["confidence_in_sample"] and in_sample["confidence_floor"] == pytest.approx(100 * table.floor)
    assert "note: confidences are in-sample" in done.out
    assert table.trained == mt.load(run, device="cpu").trained
    assert call("evaluate", run, *options, "--out", tmp_path / "test").status == 0
    results = json.loads((tmp_path / "test/results.json").read_text())
    assert results["confidence_in_sample"] is False
    assert 50 < results["confidence_auc"] <= 100 and 0 <= results["confidence_error"] <= 100
    assert (tmp_path / "test/confidence.png").stat().st_size > 1000
    one = mt.load(run, device="cpu").translate("two cats see houses")
    assert Confidence(table).words(one) == table.confidences(features_of(one))
    # The note about a share that the table does not know.
    for share, noted in ((table.floor / 2, True), (1.0, False)):
        said = call("translate", run, "--min-confidence", share, stdin="two cats\n").err
        assert ("below that it is a guess" in said) == noted
    (run / FILE).write_text('{"judged": "words"}')
    said = call("translate", run, "--min-confidence", "0.5", stdin="two cats\n").err
    assert f"{run / FILE} is no table of confidences" in said
