import errno
import fcntl
import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from mt import storage
from mt.common.input_files import read_json
from mt.errors import explained
from tests.refusals.sentences import require_refusal


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a file that nobody may write."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    return folder


@pytest.fixture
def inside(tmp_path: Path, outside: Path) -> Path:
    """A folder to write in."""
    (tmp_path / "inside").mkdir()
    return tmp_path / "inside"


def untouched(outside: Path) -> bool:
    return [path.read_text() for path in outside.iterdir()] == ["mine"]


def test_text_is_utf8_with_a_newline_after_each_line(tmp_path: Path) -> None:
    storage.write_text(tmp_path / "made" / "file.txt", ["größer", "", "鳥"])
    assert (tmp_path / "made" / "file.txt").read_bytes() == "größer\n\n鳥\n".encode()
    storage.write_json(tmp_path / "file.json", {"a": "ß"})
    assert (tmp_path / "file.json").read_text(encoding="utf-8") == '{\n  "a": "ß"\n}\n'
    storage.write_json(tmp_path / "file.json", {"folder": "caf\udce9"})  # a byte that is no character becomes an escape
    assert read_json(tmp_path / "file.json", "") == {"folder": "caf\udce9"}
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file.json", "file.txt", "made"]


@pytest.mark.parametrize("broken", [OSError("no space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("before", ["before\n", None])
def test_a_crash_leaves_the_file_before(before: str | None, broken: BaseException, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    if before is not None:
        storage.write_text(path, ["before"])
    with pytest.raises(type(broken)), storage.replaced(path) as file:
        file.write(b"half")
        raise broken
    with pytest.raises(type(broken)), storage.replaced_path(path) as draft:
        assert not draft.exists()
        draft.write_text("half")
        raise broken
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == ({"file.txt": before} if before else {})


def test_a_folder_and_its_files_are_flushed_before_it_takes_its_name(tmp_path, monkeypatch):
    path = tmp_path / "folder"
    flushed = []

    def noted(descriptor: int) -> None:
        flushed.append((path.exists(), os.fstat(descriptor).st_ino))

    monkeypatch.setattr(os, "fsync", noted)
    with storage.replaced_folder(path) as draft:
        (draft / "inside").mkdir()
        (draft / "inside" / "file").write_text("four")
    before = {number for existed, number in flushed if not existed}
    assert before == {each.stat().st_ino for each in (path, path / "inside", path / "inside" / "file")}
    assert flushed[-1] == (True, tmp_path.stat().st_ino)


@pytest.mark.parametrize("name", [".file.txt.part", "file.txt", ".update-1.part", ".update-1.old", "update-1"])
def test_a_link_in_place_of_a_file_or_folder_or_its_draft_is_replaced(name: str, inside: Path, outside: Path) -> None:
    (inside / name).symlink_to(outside / "mine.txt" if "file" in name else outside)
    if "file" in name:
        storage.write_text(inside / "file.txt", ["new"])
        made = ["file.txt"]
    else:
        with storage.replaced_folder(inside / "update-1") as draft:
            (draft / "file").touch()
        made = ["update-1", "file"]
    assert not (inside / made[0]).is_symlink() and [path.name for path in inside.rglob("*")] == made
    assert untouched(outside)


def test_folders_are_not_made_nor_lines_appended_through_a_link(inside: Path, outside: Path) -> None:
    (inside / "hypotheses").symlink_to(outside)
    (inside / "absent").symlink_to(outside / "absent")
    (inside / "metrics.jsonl").symlink_to(outside / "mine.txt")
    sentence = "is a link to .*, and nothing is written through links: remove it"
    for name in ("hypotheses", "absent"):
        require_refusal(partial(storage.subfolder, inside, name), f"{name} {sentence}")
    require_refusal(lambda: storage.open_to_append(inside / "metrics.jsonl"), rf"metrics\.jsonl {sentence}")
    assert untouched(outside)


def test_lines_are_appended(tmp_path: Path) -> None:
    for line in ("größer", "small"):
        with storage.open_to_append(tmp_path / "lines") as file:
            file.write(f"{line}\n")
            assert (tmp_path / "lines").read_text(encoding="utf-8").endswith(f"{line}\n")
    assert (tmp_path / "lines").read_text(encoding="utf-8") == "größer\nsmall\n"
    assert storage.subfolder(tmp_path, "new").is_dir() and storage.subfolder(tmp_path, "new").is_dir()


def test_removal_is_a_rename_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "update-1"
    folder.mkdir()
    (folder / "file").touch()

    def die(path: Path, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", die)
        with pytest.raises(KeyboardInterrupt):
            storage.remove(folder)
    assert not folder.exists() and (tmp_path / ".update-1.trash").exists()
    folder.mkdir()
    storage.remove(folder)
    storage.remove(folder)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("replaced_already", [True, False])
def test_a_folder_that_was_being_replaced_gets_its_name_back(replaced_already: bool, tmp_path: Path) -> None:
    for name in (".update-1.old", ".update-1.part", ".update-2.trash"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name[-3:]).touch()
    (tmp_path / ".file.part").touch()
    if replaced_already:
        (tmp_path / "update-1").mkdir()
        (tmp_path / "update-1" / "new").touch()
    storage.repair(tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["update-1", "new" if replaced_already else "old"]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "a/b"), "a/b: No space left on device: free disk space"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "run: Disk quota exceeded: free disk space"),
        (PermissionError(errno.EACCES, "No", "a"), "a: No: give yourself permission to write there"),
        (OSError(errno.EIO, "Input/output error", "a"), "a: Input/output error"),
        (OSError("no host of this name"), "no host of this name"),
    ],
)
def test_an_error_of_the_system_names_its_own_remedy(error: OSError, sentence: str) -> None:
    assert explained(error, Path("run")) == sentence


def test_a_disk_that_refuses_is_told_with_its_place(tmp_path: Path) -> None:
    for writing in (storage.replaced, storage.replaced_folder):
        with pytest.raises(OSError, match=r"No space left") as refused, writing(tmp_path / "a"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        assert explained(refused.value) == f"{tmp_path}/a: No space left on device: free disk space"
        assert not any(tmp_path.iterdir())


# The lock between processes.
_ROOT = Path(__file__).parents[1]


def test_the_file_is_there_as_long_as_the_lock_is_held(tmp_path: Path) -> None:
    """A file of others in its place is not cut."""
    path = tmp_path / "lock"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), storage.locked(path):
            assert path.is_file()
            raise KeyboardInterrupt
        assert list(tmp_path.iterdir()) == []
    (tmp_path / "foreign").write_text("precious")
    path.hardlink_to(tmp_path / "foreign")
    with storage.locked(path):
        pass
    assert (tmp_path / "foreign").read_text() == "precious"


def test_who_waited_takes_the_lock_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    waited = threading.Event()
    held: list[bool] = []

    def wait() -> None:
        with storage.locked(path, waited.set):
            held.append(path.is_file())

    with storage.locked(path):
        other = threading.Thread(target=wait)
        other.start()
        assert waited.wait(30) and not held
    other.join()
    assert held == [True] and list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with storage.locked(tmp_path / "lock"):
        assert (tmp_path / "lock").is_file()


def test_the_lock_ends_with_a_killed_process(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom mt.storage import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "lock")]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        with pytest.raises(BlockingIOError), storage.locked(tmp_path / "lock"):
            pass
        process.kill()
        process.wait()
    with storage.locked(tmp_path / "lock"):
        pass


def test_a_folder_is_tried_before_long_work(tmp_path: Path) -> None:
    storage.require_writable(tmp_path / "new" / "deeper")
    storage.require_writable(tmp_path)
    assert not [*tmp_path.iterdir()], "nothing is made"
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    sentence = r"cannot be written \(.*\): give another folder$"
    for name in ("file", "file/below", "loop", "loop/below"):
        require_refusal(partial(storage.require_writable, tmp_path / name, "--plots X"), f"^--plots X {sentence}")
    require_refusal(lambda: storage.require_writable(Path("/proc/none/x")), f"^/proc/none/x {sentence}")


def test_a_file_that_will_be_written_is_tried_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for name in ("file", "new", "new/deeper"):
        storage.require_writable(tmp_path / name, is_file=True)
    for path in (tmp_path, tmp_path / "file/below", Path("/dev/null")):
        call = partial(storage.require_writable, path, "--out X", is_file=True)
        require_refusal(call, r"^--out X cannot be written \(.*\): give another file$")
