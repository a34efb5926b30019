from pathlib import Path

import pytest

from mt.storage import write_json, write_text


def test_text_is_utf8_with_a_newline_after_each_line(tmp_path: Path) -> None:
    write_text(tmp_path / "made" / "file.txt", ["größer", "", "鳥"])
    assert (tmp_path / "made" / "file.txt").read_bytes() == "größer\n\n鳥\n".encode()
    write_json(tmp_path / "file.json", {"a": "ß"})
    assert (tmp_path / "file.json").read_text(encoding="utf-8") == '{\n  "a": "ß"\n}\n'


def test_a_crash_leaves_the_file_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.txt"
    write_text(path, ["before"])

    def full(*arguments: object, **named: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space left"):
        write_text(path, ["after"])
    assert path.read_text() == "before\n"
