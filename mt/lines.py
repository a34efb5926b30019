"""Lines of UTF-8 text, from files and streams. Only a newline ends one: Unicode's other separators may stand inside."""

import codecs
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mt.errors import UserError


def decoded(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """The lines of a binary stream, blank ones included, without line ends and byte-order mark.

    name: what to call the stream. Raises UserError where a line is not UTF-8 (says which).
    """
    for number, line in enumerate(stream, start=1):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise UserError(f"{name}, line {number} is not UTF-8: convert the text to UTF-8") from error


def read_lines(path: Path) -> list[str]:
    """The lines of a file, as `decoded` gives them. Raises UserError where it cannot be read, or is empty, as well."""
    try:
        with path.open("rb") as file:
            lines = list(decoded(file, str(path)))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): give an existing text file") from error
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
