"""Reads files that somebody else may have made. Only regular files are opened, since a pipe or a device may never end,
and files that are read at once have a largest size.

A refusal is an OSError that names the file, as the system's own errors do.
"""

import errno
import hashlib
import io
import json
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any

from mt.errors import UserError, shown

LARGEST = 1 << 26
"""The most bytes of a file that is read at once: a configuration, results, a tokenizer."""


def require_regular(path: Path) -> None:
    """Raises OSError where a file is missing or not regular, before a library opens it by its name."""
    _refuse_irregular(path, path.stat().st_mode)


def open_regular(path: Path, buffering: int = io.DEFAULT_BUFFER_SIZE) -> io.BufferedReader:
    """Opens a file to read bytes from. Raises OSError where it is missing, or is a pipe, a device or a folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)  # a pipe would wait
    # The open file is looked at, since a name may lead to another one meanwhile.
    try:
        _refuse_irregular(path, os.fstat(descriptor).st_mode)
    except BaseException:
        os.close(descriptor)
        raise
    # From here on the file closes the descriptor, also where a signal comes: closed twice, it would hide the signal.
    return io.BufferedReader(io.FileIO(descriptor), buffering)


def read_bytes(path: Path) -> bytes:
    """Reads all of a regular file. Raises OSError also where it has more than `LARGEST` bytes."""
    with open_regular(path) as file:
        # One byte more than allowed shows that there is too much.
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise _refusal(path, f"has more than {LARGEST >> 20} MiB")
    return content


def read_text(path: Path) -> str:
    """Reads a file of UTF-8 as `read_bytes` does. Raises UnicodeDecodeError for other bytes."""
    return read_bytes(path).decode()


def sha256(path: Path) -> str:
    """Computes the SHA-256 of the contents, in hex. Raises OSError as `open_regular`."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parse_json(text: str | bytes, *, infinite: bool = False) -> Any:
    """Parses JSON that somebody else may have written. Raises ValueError for other text, for JSON that is nested too
    deeply, for numbers of thousands of digits, and for a key that comes twice.

    infinite: whether to accept NaN and infinite numbers, which Python writes and JSON does not have.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=None if infinite else _refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Makes an object of JSON. Raises ValueError where a key comes twice, since one value would be lost."""
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError(f"its key {Counter(name for name, _ in pairs).most_common(1)[0][0]} comes twice")
    return row


def parse_json_line(line: str, name: str, form: str) -> Any:
    """Parses a line of a file. Raises UserError, which names the line, where it is no JSON. form: says what to
    write."""
    try:
        return parse_json(line)
    except ValueError as error:
        raise UserError(f"{name} is no JSON ({shown(str(error), 100)}): {form}") from None


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """Reads the object in a JSON file. Raises UserError where there is none. remedy: what the user can do about it."""
    try:
        value = parse_json(read_text(path), infinite=True)  # a diverged run has such numbers
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as JSON ({reason(error)}): {remedy}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path} is no JSON object: {remedy}")
    return value


def reason(error: Exception) -> str:
    """Returns the message of an error, of an OSError without its number and path."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _refuse_irregular(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise _refusal(path, "is no regular file")  # but a pipe, a device or a socket


def _refusal(path: Path, reason: str) -> OSError:
    return OSError(errno.EINVAL, reason, str(path))
