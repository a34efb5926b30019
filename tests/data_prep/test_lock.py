"""The lock on a folder of corpora."""

import contextlib
import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from data_prep.lock import locked
from mt.errors import UserError

_ROOT = Path(__file__).parents[2]


def test_the_file_is_there_as_long_as_the_lock_is_held(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for _ in range(2):
        with locked(path, progress=False):
            assert path.is_file()
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), locked(path, progress=False):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_a_kill_left_locks_nobody_out(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    with locked(tmp_path / "lock", progress=False):
        assert (tmp_path / "lock").is_file()
    assert list(tmp_path.iterdir()) == []


def test_who_waited_for_a_deleted_file_takes_a_new_one_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, flock = tmp_path / "lock", fcntl.flock
    other = contextlib.ExitStack()
    other.enter_context(locked(path, progress=False))

    def release_when_waited_for(file, operation: int) -> None:
        if operation == fcntl.LOCK_EX:
            assert path.is_file()
            other.close()
            assert not path.is_file()
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", release_when_waited_for)
    with locked(path, progress=True), path.open("w") as file, pytest.raises(BlockingIOError):
        flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert capsys.readouterr().out == f"waiting for another preparation in {tmp_path}\n"
    assert list(tmp_path.iterdir()) == []


def test_processes_do_not_meet(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom data_prep.lock import locked\n"
        "counter = Path(sys.argv[1], 'counter')\n"
        "for _ in range(100):\n"
        "    with locked(counter.with_name('lock'), progress=False):\n"
        "        count = int(counter.read_text())\n"
        "        time.sleep(0.001)\n"
        "        counter.write_text(str(count + 1))\n"
    )
    (tmp_path / "counter").write_text("0")
    command = [sys.executable, "-c", script, str(tmp_path)]
    processes = [subprocess.Popen(command, cwd=_ROOT) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert (tmp_path / "counter").read_text() == "300"
    assert [path.name for path in tmp_path.iterdir()] == ["counter"]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_refused_and_what_it_points_to_stays(tmp_path: Path, there: bool) -> None:
    if there:
        (tmp_path / "foreign").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "foreign")
    sentence = r"lock is a link, where the lock of a preparation belongs: delete it$"
    with pytest.raises(UserError, match=sentence), locked(tmp_path / "lock", progress=False):
        pytest.fail("locked")
    assert (tmp_path / "foreign").exists() == there
    assert not there or (tmp_path / "foreign").read_text() == "precious"


def test_a_file_in_place_of_the_lock_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "foreign").write_text("precious")
    (tmp_path / "lock").hardlink_to(tmp_path / "foreign")
    with locked(tmp_path / "lock", progress=False):
        pass
    assert (tmp_path / "foreign").read_text() == "precious"
