"""What is read ends, and fits into memory."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mt.common.input_files import LARGEST, open_regular, parse_json, read_bytes, read_json, require_regular
from mt.errors import UserError
from mt.storage import locked, open_to_append
from mt.text_io import byte_lines, file_lines

ENDLESS = ["/dev/zero", "/dev/full", "/dev/urandom"]


@pytest.fixture(params=["pipe", "link", "folder"])
def no_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A pipe that nobody writes to, a link to a device, or a folder."""
    path = tmp_path / request.param
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "link":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    return path


def test_what_is_no_regular_file_is_refused_at_once(no_file: Path):
    for read in (require_regular, open_regular, read_bytes):
        with pytest.raises(OSError, match=r"(no regular file|Is a directory): '.*'$"):
            read(no_file)
    with pytest.raises(UserError, match=r"cannot be read as JSON \((is no regular file|Is a directory)\): do"):
        read_json(no_file, "do")
    with pytest.raises(UserError, match=r"cannot be read \((is no regular file|Is a directory)\): give an exist"):
        list(file_lines(no_file))


def test_a_signal_while_a_file_is_opened_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "text"
    path.touch()
    opened = io.FileIO

    def interrupted(descriptor: int) -> io.FileIO:
        opened(descriptor).close()  # as Python does with what has no name yet
        raise KeyboardInterrupt

    monkeypatch.setattr(io, "FileIO", interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_regular(path)


def test_what_is_no_regular_file_is_not_written_to(no_file: Path):
    for write in (open_to_append, lambda path: locked(path).__enter__()):
        with pytest.raises(UserError, match=f"^{no_file} (cannot be written|is a link to).*: remove it$"):
            write(no_file)


@pytest.mark.parametrize("device", ENDLESS)
def test_a_text_may_come_through_a_pipe_but_not_from_a_device_without_end(device: str, tmp_path: Path):
    # A first line of random bytes is, once in a hundred times, valid text.
    with pytest.raises(UserError, match=rf"{device}, line \d+ (has more than 64 MiB|is not UTF-8|holds a NUL)"):
        list(file_lines(Path(device), pipes=True))
    assert list(file_lines(Path(os.devnull), pipes=True)) == []
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'w').write('one\\ntwo\\n')"]):
        assert list(file_lines(pipe, pipes=True)) == ["one", "two"]


@pytest.mark.parametrize("text", ["", "{", "NaN", '{"a": [-Infinity]}', "[" * 200_000, "9" * 10_000, '"\0"', b"\xff"])
def test_what_is_no_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


def test_a_key_that_comes_twice_among_very_many_is_named_at_once() -> None:
    pairs = ",".join(f'"k{number % 199_999}": 0' for number in range(200_000))
    with pytest.raises(ValueError, match="its key k0 comes twice"):
        parse_json(f"{{{pairs}}}")


def test_json_of_a_run_that_diverged_is_read_where_that_is_asked_for() -> None:
    assert parse_json('{"loss": [Infinity, 1]}', infinite=True) == {"loss": [float("inf"), 1]}
    assert parse_json('{"a": [1.5, null, "é"]}') == {"a": [1.5, None, "é"]}


def test_a_file_that_is_read_at_once_has_a_largest_size(tmp_path: Path):
    path = tmp_path / "config.json"
    path.write_bytes(b" ")
    os.truncate(path, LARGEST + 1)
    with pytest.raises(OSError, match="has more than 64 MiB"):
        read_bytes(path)


def test_a_line_has_a_largest_size():
    with open("/dev/zero", "rb") as stream, pytest.raises(UserError, match="text, line 1 has more than 64 MiB: give"):
        list(byte_lines(stream, "text"))
