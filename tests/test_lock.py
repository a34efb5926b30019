"""The lock between processes."""

import contextlib
import errno
import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from mt.errors import UserError
from mt.storage import locked

_ROOT = Path(__file__).parents[1]


def test_the_file_is_there_as_long_as_the_lock_is_held(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for _ in range(2):
        with locked(path):
            assert path.is_file()
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), locked(path):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_a_kill_left_locks_nobody_out(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    with locked(tmp_path / "lock"):
        assert (tmp_path / "lock").is_file()
    assert list(tmp_path.iterdir()) == []


def test_who_waited_for_a_deleted_file_takes_a_new_one_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lock"
    flock = fcntl.flock
    other = contextlib.ExitStack()
    other.enter_context(locked(path))

    def release_when_waited_for(file, operation: int) -> None:
        if operation == fcntl.LOCK_EX:
            assert path.is_file()
            other.close()
            assert not path.is_file()
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", release_when_waited_for)
    with locked(path, lambda: print("waiting")), path.open("w") as file, pytest.raises(BlockingIOError):
        flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert capsys.readouterr().out == "waiting\n"
    assert list(tmp_path.iterdir()) == []


def test_without_waiting_the_second_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path), pytest.raises(BlockingIOError), locked(path):
        pass
    with locked(path):
        pass


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (tmp_path / "lock").symlink_to(outside)
    sentence = r"lock is a link to .*outside, and nothing is written through links: remove it$"
    with pytest.raises(UserError, match=sentence), locked(tmp_path / "lock"):
        pytest.fail("locked")
    assert outside.read_text() == "mine"


def test_a_file_in_place_of_the_lock_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "foreign").write_text("precious")
    (tmp_path / "lock").hardlink_to(tmp_path / "foreign")
    with locked(tmp_path / "lock"):
        pass
    assert (tmp_path / "foreign").read_text() == "precious"


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(tmp_path / "lock"):
        assert (tmp_path / "lock").is_file()


def test_the_lock_ends_with_a_killed_process(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom mt.storage import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "lock")]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        with pytest.raises(BlockingIOError), locked(tmp_path / "lock"):
            pass
        process.kill()
        process.wait()
    with locked(tmp_path / "lock"):
        pass


def test_processes_do_not_meet(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom mt.storage import locked\n"
        "counter = Path(sys.argv[1], 'counter')\n"
        "for _ in range(100):\n"
        "    with locked(counter.with_name('lock'), lambda: None):\n"
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
