"""Scripts that replace unknown words."""

import json
from pathlib import Path


def test_unknown_words_are_replaced(call, trained: Path, tmp_path: Path) -> None:
    done = call("translate", "--replace-unknown", trained, stdin="two cats\n")
    plain = call("translate", trained, stdin="two cats\n")
    assert (done.out, done.err) == (plain.out, "note: 0 unknown words replaced\n")
    (tmp_path / "words").write_text("one\n")
    broken = call("translate", trained, "--unknown-dictionary", tmp_path / "words", stdin="two cats\n")
    assert broken.status == 2 and f"{tmp_path}/words, line 1 is no entry" in broken.err


def test_replaced_unknown_words_are_counted(call, run: Path, corpora: Path) -> None:
    assert call("evaluate", run, "--corpora", corpora, "--replace-unknown").status == 0
    results = json.loads((run / "evaluations/test-best-beam-replace_unknown/results.json").read_text())
    assert results["replaced_unknown"] == 0
