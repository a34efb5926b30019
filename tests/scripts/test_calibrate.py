"""Confidences on the command line: a run is calibrated, and unsure words are marked or left out."""

import json
from pathlib import Path

from mt import Translator, load
from mt.decoding.confidence import FILE, load_calibration
from mt.decoding.lines import Unsure

TEXTS = ["two cats see houses", "the big dogs find streets", "three green birds leave bridges"]


def test_evaluation_of_dev_makes_the_table_of_a_run(call, run: Path, corpora: Path, tmp_path: Path) -> None:
    """Later evaluations report what it is worth. Samples at a high temperature err, where the small run does not."""
    options = ["--corpora", corpora, "--search", "sample", "--samples", "1", "--temperature", "2"]
    done = call("evaluate", run, *options, "--split", "dev", "--calibrate", "--out", tmp_path / "dev")
    assert done.status == 0, done.err
    table = load_calibration(run)
    assert table is not None and table.judged == "words"
    assert call("evaluate", run, *options, "--out", tmp_path / "test").status == 0
    results = json.loads((tmp_path / "test/results.json").read_text())
    assert 50 < results["confidence_auc"] <= 100 and 0 <= results["confidence_error"] <= 100
    assert (tmp_path / "test/confidence.png").stat().st_size > 1000
    one = load(run, device="cpu").translate(TEXTS[0])
    assert one.word_confidence == table.confidences(one.word_features)
    (run / FILE).write_text('{"judged": "words"}')
    assert f"{run / FILE} is no table of confidences" in call("translate", run).err


def test_words_that_are_probably_wrong_are_marked_or_left_out(
    call, trained: Path, translator: Translator, tmp_path: Path
) -> None:
    one = translator.translate("two zzq cats see houses")
    least = sorted(one.word_confidence)[1]
    words = one.text.split()
    marked = [word if sure >= least else f"[?{word}]" for word, sure in zip(words, one.word_confidence, strict=True)]
    assert sum(word.startswith("[?") for word in marked) == 1
    (tmp_path / "text").write_text("two zzq cats see houses\n\n")
    done = call("translate", trained, tmp_path / "text", "--min-confidence", f"{least}")
    assert done.out == f"{' '.join(marked)}\n\n"
    assert Unsure(one.confidence, leave_out=True).shown(translator, one) == one.text
    above = min(1.0, one.confidence + 1e-6)
    done = call("translate", trained, tmp_path / "text", "--min-confidence", f"{above}", "--leave-out")
    assert done.out == "\n\n"
