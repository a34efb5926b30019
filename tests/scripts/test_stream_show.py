import sys
from pathlib import Path

import pytest

from mt.decoding.load import load
from scripts.staircase import main, staircase


def test_reads_and_writes_are_drawn_sentence_by_sentence(
    trained_hard: Path, tmp_path: Path, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["two cats see houses", "", "the big dogs find birds"]
    (tmp_path / "source.txt").write_text("\n".join(texts))
    with (tmp_path / "source.txt").open() as source:
        monkeypatch.setattr(sys, "stdin", source)
        main([str(trained_hard)])
    expected = []
    translator = load(trained_hard, device="cpu")
    for text in texts:
        session = translator.stream()
        for word in text.split():
            session.read(word)
        session.finish()
        assert [word for kind, word in session.events if kind == "read"] == text.split()
        expected += [*staircase(session.events), ""]
    assert capfd.readouterr() == ("".join(f"{line}\n" for line in expected), "")
    assert any("┓" in line for line in expected)
