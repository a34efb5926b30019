"""`--glossary FILE` of translate.py and stream.py."""

from contextlib import nullcontext
from pathlib import Path

import pytest

TEXT = "the big cats see two green houses\nno term\n"


def test_the_terms_of_a_file_are_written(
    call, trained: Path, trained_hard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "terms.tsv").write_text("cats\tHunde\nhouses\tBrücken|Hunde\n", encoding="utf-8")
    options = ["--device", "cpu", "--glossary", tmp_path / "terms.tsv"]
    first, second = call("translate", trained, *options, "--buffer-size", 1, stdin=TEXT).out.splitlines()
    assert "Hunde" in first and first != second
    (tmp_path / "terms.jsonl").write_text('{"cats": "Hunde", "houses": ["Brücken", "Hunde"]}\n{}\n', encoding="utf-8")
    own = ["--device", "cpu", "--glossary", tmp_path / "terms.jsonl"]
    assert call("translate", trained, *own, "--buffer-size", 1, stdin=TEXT).out.splitlines() == [first, second]
    monkeypatch.setattr("mt.decoding.streaming.live.standard_input", lambda unit: nullcontext([TEXT.encode()]))
    streamed = call("stream", trained_hard, *options).out.splitlines()
    assert "Hunde" in streamed[0] and len(streamed) == 2


def test_a_mistake_is_named_before_anything_is_written(call, trained: Path, trained_hard: Path, tmp_path: Path) -> None:
    for text, sentence in (
        ("cats\tHunde\nhouses\n", "terms, line 2 has 0 TAB characters, and an entry has one"),
        ("cats\tHunde\nhouses\t☃\n", 'terms, line 2 asks for "☃", and the vocabulary of the model cannot write'),
    ):
        (tmp_path / "terms").write_text(text, encoding="utf-8")
        for name, run in (("translate", trained), ("stream", trained_hard)):
            done = call(name, run, "--device", "cpu", "--glossary", tmp_path / "terms", stdin=TEXT)
            assert done.status and not done.out and sentence in done.err
    (tmp_path / "terms.jsonl").write_text('{"cats": "Hunde"}\n')
    done = call("translate", trained, "--device", "cpu", "--glossary", tmp_path / "terms.jsonl", stdin=TEXT)
    assert done.status and "a glossary for each of 2 texts is a list with as many entries" in done.err
