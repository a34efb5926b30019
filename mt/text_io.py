"""Lines of UTF-8 text, from files and streams. Only a newline ends one: Unicode's other separators may stand inside."""

import codecs
import contextlib
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from mt.errors import UserError


def decoded(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """The lines of a binary stream, blank ones included, without line ends and byte-order mark.

    name: what to call the stream. Raises UserError where a line is not UTF-8, or holds a NUL (says which), and where
    lines end in carriage returns alone.
    """
    for number, line in enumerate(stream, start=1):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
            if b"\r" in line[:-1] and not line.endswith(b"\n"):
                raise UserError(
                    f"{name} has carriage returns and no newline, and would be read as one line: convert its line "
                    "ends, as with tr '\\r' '\\n'"
                )
        try:
            text = line.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise UserError(
                f"{name}, line {number} is not UTF-8 (byte {error.start + 1} of the line): convert the text to UTF-8"
            ) from error
        if "\0" in text:
            raise UserError(f"{name}, line {number} holds a NUL character: remove it, or convert the text to UTF-8")
        yield text


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file to read bytes from, decompressed where its name ends in `.gz`.

    Raises UserError, also out of the body, where it cannot be read, or is no whole gzip file.
    """
    try:
        with io.BufferedReader(gzip.open(path)) if path.suffix == ".gz" else path.open("rb") as file:
            yield file
    except EOFError as error:
        raise UserError(f"{path} is cut short: copy it again, or compress it again") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path} is not a sound gzip file ({error}): copy it again, or compress it again") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): give an existing text file") from error


def file_lines(path: Path) -> Iterator[str]:
    """The lines of a file, plain or `.gz`, one after another. Raises UserError as `decoded` and `opened`."""
    with opened(path) as file:
        yield from decoded(file, str(path))


def read_lines(path: Path) -> list[str]:
    """The lines of a file, all of them. Raises UserError as `file_lines`, and where there are none."""
    lines = list(file_lines(path))
    if not lines:
        raise UserError(f"{path} is empty: give a file with one sentence per line")
    return lines


def read_parallel(paths: Sequence[Path], what: str) -> list[list[str]]:
    """Files whose lines n belong together, to one `what`. Raises UserError as `read_lines`, or where counts differ."""
    texts = [read_lines(path) for path in paths]
    for path, lines in zip(paths, texts, strict=True):
        if len(lines) != len(texts[0]):
            raise UserError(
                f"{paths[0]} has {len(texts[0])} lines but {path} has {len(lines)}: "
                f"line n of each must belong to the same {what}"
            )
    return texts
