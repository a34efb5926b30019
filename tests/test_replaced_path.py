from pathlib import Path

import pytest

from mt.storage import replaced_path


def _foreign(tmp_path: Path) -> Path:
    path = tmp_path / "foreign"
    path.write_text("precious")
    return path


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "new"
    with pytest.raises(KeyboardInterrupt), replaced_path(path) as draft:
        draft.write_text("half")
        raise KeyboardInterrupt
    assert not path.exists()
    with replaced_path(path) as draft:
        assert not draft.exists()
        draft.write_text("whole")
    assert path.read_text() == "whole"
    assert [*tmp_path.iterdir()] == [path]


def test_a_draft_is_not_written_through_a_link(tmp_path: Path) -> None:
    foreign = _foreign(tmp_path)
    (tmp_path / "new.draft").symlink_to(foreign)
    with replaced_path(tmp_path / "new") as draft:
        draft.write_text("mine")
    assert foreign.read_text() == "precious"
    assert (tmp_path / "new").read_text() == "mine"


def test_a_folder_that_an_interruption_left_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "new.draft").mkdir()
    (tmp_path / "new.draft" / "old").touch()
    with replaced_path(tmp_path / "new") as draft:
        draft.mkdir()
        (draft / "file").touch()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file"]
