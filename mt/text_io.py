"""Text, first in the form in which texts are compared, then read from and written to files line by line.

A model reads and writes composed text with single blanks, whatever its training text was. So both sides of every
metric are brought into that form here."""

import contextlib
import functools
import gzip
import hashlib
import io
import sys
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from mt.common.input_files import open_regular, require_regular
from mt.errors import UserError, counted

# The form in which texts are compared: one composition and one notion of a blank, for both sides of every metric.
#
# References and the hypotheses of other systems are brought into this form; in files both stay as they are.
#
# A blank is a separator of `str.split`: all of Unicode's White_Space (tab, no-break space, ideographic space, line
# separators) and U+001C to U+001F. Zero-width characters are none of it: they are characters, and a model can write
# them. Only a text of nothing else is blank.


def normalize(text: str) -> str:
    """Returns a text as a model reads and writes it: `composed`, and "" where it `is_blank`."""
    text = composed(text)
    return "" if is_blank(text) else text


def composed(text: str) -> str:
    """Returns a text composed (NFC), each run of white space one U+0020, none at the ends."""
    # Most text is so already, and preparation sees millions of lines. U+0020 is the only printable white space.
    blanks = text.isprintable() and "  " not in text and text == text.strip()
    if blanks and unicodedata.is_normalized("NFC", text):
        return text
    return " ".join(unicodedata.normalize("NFC", text).split())


def comparable(text: str, *, lowercase: bool = False, newlines: bool = False) -> str:
    r"""Returns a text in the form that both sides of a metric are brought to: that of `normalize`.

    lowercase: whether capitals are compared as small letters. Both small sigmas of Greek are one then, since a capital
    may stand for either. newlines: whether lines stay apart.

    >>> comparable(" Cafe\u0301\u00a0 au\tlait")
    'Café au lait'
    >>> comparable("ΟΔΟΣ", lowercase=True) == comparable("οδος", lowercase=True)
    True
    """
    if newlines:
        return "\n".join(comparable(line, lowercase=lowercase) for line in text.split("\n"))
    text = normalize(text)
    return unicodedata.normalize("NFC", text.lower().replace("ς", "σ")) if lowercase else text


def is_blank(text: str) -> bool:
    r"""Returns whether a text shows nothing: it has only blanks and characters without a width, and cannot be compared.

    >>> is_blank(" \u3000\u200b"), is_blank(" \u200b.")
    (True, False)
    """
    return all(character.isspace() or unicodedata.category(character) in ("Cc", "Cf") for character in text)


def digest(texts: Iterable[str]) -> str:
    """Computes the SHA-256, in hex, of texts in the form in which they are compared, in order."""
    return hashlib.sha256("".join(f"{normalize(text)}\n" for text in texts).encode()).hexdigest()


# Lines of UTF-8 text, from files and streams. Only a newline ends one: Unicode's other separators may stand inside.

COMPRESSED = (".gz", ".zst")
"""Endings of files that are decompressed while they are read."""
LONGEST_LINE = 1 << 26
"""The most bytes of a line. A device that never ends a line would fill the memory."""
STANDARD_INPUT = "standard input"
"""Its name in errors."""
_BYTE_ORDER_MARK = "\ufeff"
_BUFFER = 1 << 20


def decoded(stream: BinaryIO, name: str) -> Iterator[str]:
    """Yields the lines of a binary stream, blank ones included, without line ends and byte-order marks. Raises
    UserError as `decoded_with_ends`."""
    return (without_mark(text) for text, _ in decoded_with_ends(stream, name))


def decoded_with_ends(stream: BinaryIO, name: str) -> Iterator[tuple[str, str]]:
    """Yields the lines of a binary stream, and how each ends.

    name: of the stream in errors. Raises UserError, with its number, where a line is not UTF-8, holds a NUL, or has
    more than `LONGEST_LINE` bytes. It is also raised where lines end in carriage returns alone.
    """
    for number, line in enumerate(byte_lines(stream, name), start=1):
        # Old files of Macintosh have no newline at all.
        if number == 1 and b"\r" in line[:-1] and not line.endswith(b"\n"):
            raise UserError(
                f"{name} has carriage returns and no newline, and would be read as one line: convert its line "
                "ends, as with tr '\\r' '\\n'"
            )
        try:
            whole = line.decode()
        except UnicodeDecodeError as error:
            raise UserError(
                f"{name}, line {number} is not UTF-8 (byte {error.start + 1} of the line): convert the text to UTF-8"
            ) from error
        # As UTF-16 has one beside each Latin letter, which is valid UTF-8.
        if "\0" in whole:
            raise UserError(f"{name}, line {number} holds a NUL character: remove it, or convert the text to UTF-8")
        # What is left of the line is how it ends: "\n", "\r\n" or "".
        text = whole.removesuffix("\n").removesuffix("\r")
        yield text, whole[len(text) :]


def without_mark(text: str) -> str:
    """Returns a line or a cell without byte-order marks. They stand within files that were joined: in front of a line,
    or inside one where the file before had no newline at its end."""
    return text.replace(_BYTE_ORDER_MARK, "")


def is_quoted(field: str, marks: Sequence[str] = ('""',)) -> bool:
    """Returns whether a field of a table is in quotation marks, as CSV has them where it holds one of some marks. Those
    inside are doubled."""
    inside = field[1:-1]
    is_whole = len(field) > 2 and field[0] == field[-1] == '"' and '"' not in inside.replace('""', "")
    return is_whole and any(mark in inside for mark in marks)


def byte_lines(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Yields the lines of a binary stream with their ends. Raises UserError where one is too long, as `decoded`."""
    for number, line in enumerate(iter(functools.partial(stream.readline, LONGEST_LINE + 1), b""), start=1):
        if len(line) > LONGEST_LINE:
            raise UserError(
                f"{name}, line {number} has more than {LONGEST_LINE >> 20} MiB: give a text with one sentence a line"
            )
        yield line


@contextlib.contextmanager
def opened(path: Path, *, pipes: bool = False) -> Iterator[io.BufferedReader]:
    """Opens a file to read bytes from, decompressed where its name ends in `.gz` or `.zst`.

    pipes: whether it may be a pipe or a terminal, too, which can be read once. Raises UserError, also for errors of the
    body, where it cannot be read, or is no whole file of its kind.
    """
    try:
        with _decompressed(path, pipes) as file:
            yield file
    except EOFError as error:
        raise UserError(f"{path} is cut short: copy it again, or compress it again") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path} is not a sound gzip file ({error}): copy it again, or compress it again") from error
    except OSError as error:
        if error.strerror is None:  # of zstd's
            raise UserError(f"{path} is not a sound zst file ({error}): copy it again, or compress it again") from error
        raise UserError(f"{path} cannot be read ({error.strerror}): give an existing text file") from error


def file_lines(path: Path, *, pipes: bool = False) -> Iterator[str]:
    """Yields the lines of a file, plain or compressed. Raises UserError as `decoded` and `opened`.

    pipes: see `opened`.
    """
    with opened(path, pipes=pipes) as file:
        yield from decoded(file, str(path))


def input_lines(path: Path | None) -> Iterator[str]:
    """Yields the lines of a file or pipe; of standard input where there is no path, or `-`. Raises UserError as
    `file_lines`, and where standard input is closed or cannot be read."""
    return (without_mark(text) for text, _ in ended_lines(path))


def ended_lines(path: Path | None) -> Iterator[tuple[str, str]]:
    """Yields the lines of an input as `input_lines`, and how each ends."""
    with _input(path) as (stream, name):
        yield from decoded_with_ends(stream, name)


def input_bytes(path: Path | None) -> bytes:
    """Returns all of an input; see `input_lines`."""
    with _input(path) as (stream, _):
        return stream.read()


@contextlib.contextmanager
def _input(path: Path | None) -> Iterator[tuple[BinaryIO, str]]:
    if path and path != Path("-"):
        with opened(path, pipes=True) as file:
            yield file, str(path)
    # As where a shell has closed it (`<&-`), or Windows starts a program without a console.
    elif sys.stdin is None:
        raise UserError(f"{STANDARD_INPUT} is closed: give a FILE, or send it text with < FILE")
    else:
        try:
            # The caller reads while this waits here, so that errors of its reading arrive here.
            yield sys.stdin.buffer, STANDARD_INPUT
        except OSError as error:
            raise UserError(
                f"{STANDARD_INPUT} cannot be read ({error.strerror}): give a FILE, or send it text"
            ) from error


def _decompressed(path: Path, pipes: bool) -> io.BufferedReader:
    if path.suffix in COMPRESSED:
        require_regular(path)  # the libraries below open it by its name
    if path.suffix == ".zst":
        import pyarrow as pa  # here, since it takes a tenth of a second, and few have such files

        return io.BufferedReader(pa.input_stream(str(path), compression="zstd"), _BUFFER)  # type: ignore[arg-type]
    if path.suffix == ".gz":
        return io.BufferedReader(gzip.open(path), _BUFFER)  # type: ignore[arg-type]
    return io.BufferedReader(path.open("rb", 0), _BUFFER) if pipes else open_regular(path, _BUFFER)


def read_lines(path: Path, *, pipes: bool = False) -> list[str]:
    """Reads all lines of a file. Raises UserError as `file_lines`, and where there are none."""
    lines = list(file_lines(path, pipes=pipes))
    if not lines:
        raise UserError(f"{path} is empty: give a file with one sentence per line")
    return lines


def read_parallel(paths: Sequence[Path], what: str) -> list[list[str]]:
    """Reads files, or pipes, of which line n belongs to the same `what`.

    Raises UserError as `read_lines`, or where counts differ.
    """
    texts = [read_lines(path, pipes=True) for path in paths]
    require_parallel(paths, texts, what)
    return texts


def require_parallel(paths: Sequence[Path], texts: Sequence[Sequence[str]], what: str) -> None:
    """Raises UserError where files have unequal counts of lines, of which line n belongs to the same `what`."""
    for path, lines in zip(paths, texts, strict=True):
        if len(lines) != len(texts[0]):
            raise UserError(
                f"{paths[0]} has {counted(len(texts[0]), 'line')} but {path} has {len(lines):,}: "
                f"line n of each must belong to the same {what}"
            )
