import gzip
import io
from pathlib import Path

import pytest

from mt.errors import UserError
from mt.text_io import comparable, decoded, file_lines, is_blank, normalize, read_lines, read_parallel


def test_lines_end_at_newlines_alone() -> None:
    stream = io.BytesIO("\ufeffa\u2028b\r\n\r\n\x85\rc".encode())
    assert [*decoded(stream, "text")] == ["a\u2028b", "", "\x85\rc"]


@pytest.mark.parametrize("text", ["", " \t", "\u200b", "\u00ad", "\u200e \u2060", "\ufeff\x85"])
def test_a_text_that_shows_nothing_is_none(text: str) -> None:
    assert is_blank(text) and normalize(text) == comparable(text) == ""
    assert normalize(f" a {text}b").split()[0] == "a"


def test_no_line_has_a_byte_order_mark() -> None:
    """As in files that were joined; inside of a line it is a character."""
    stream = io.BytesIO("\ufeffa\n\ufeffb\n\ufeff\ufeffc\ufeff\n\ufeff\n".encode())
    assert [*decoded(stream, "text")] == ["a", "b", "c", ""]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"gut\nGr\xfc\xdfe\n", "^text, line 2 is not UTF-8 \\(byte 3 of the line\\): convert the text to UTF-8$"),
        (b"a\0\n", "^text, line 1 holds a NUL character: remove it, or convert the text to UTF-8$"),
    ],
)
def test_bad_lines_are_refused(content: bytes, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        list(decoded(io.BytesIO(content), "text"))


def test_compressed_files_are_read_alike(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"one\r\ntwo")
    (tmp_path / "small.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    assert read_parallel([tmp_path / "plain", tmp_path / "small.gz"], "pair") == [["one", "two"], ["one", "two"]]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.gz", gzip.compress(b"one\n", mtime=0)[:-4], r"a\.gz is cut short: copy it again, or compress it again$"),
        ("a.gz", b"one\n", r"a\.gz is not a sound gzip file \(Not a gzipped file .*\): copy it again, or compress it"),
        ("a", b"", r"a is empty: give a file with one sentence per line$"),
        ("a", None, r"a cannot be read \(No such file or directory\): give an existing text file$"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, content: bytes | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        read_lines(tmp_path / name)


def test_lines_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\n" + b"\xff\n")
    assert next(file_lines(tmp_path / "a")) == "one"


@pytest.mark.parametrize("content", [b"a\rb\rc", b"a\rb\rc\r", b"\xef\xbb\xbfa\rb"])
def test_carriage_returns_alone_end_no_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mac").write_bytes(content)
    (tmp_path / "mac.gz").write_bytes(gzip.compress(content))
    for name in ("mac", "mac.gz"):
        with pytest.raises(
            UserError, match=rf"/{name} has carriage returns and no newline, .*: convert its line ends, as with tr"
        ):
            read_lines(tmp_path / name)


@pytest.mark.parametrize("content", [b"a", b"a\r", b"a\r\n", b"a\rb\n", b"a\n\rb\rc"])
def test_other_carriage_returns_are_part_of_the_text(content: bytes) -> None:
    assert [*decoded(io.BytesIO(content), "text")]
