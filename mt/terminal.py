"""What is written to a terminal: UTF-8 in every locale, and no text of data or files that could give it an order."""

import io
import re
import sys
from typing import TextIO

# Controls (C0, DEL and C1), separators of lines and paragraphs, lone surrogates, and what turns a line round beyond its
# own text (embeddings, overrides, isolates: "Trojan Source", Boucher and Anderson 2021). Marks of direction and joiners
# stay, as Hebrew, Persian or Hindi is written with them.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u206f\ufff9-\ufffb\ud800-\udfff]")


def visible(text: str) -> str:
    """Text of data or files, on one line, for a terminal or a sentence: what could move a cursor, end a line, turn a
    line round or give the terminal an order is written as an escape; all other Unicode stays as it is.

    >>> print(visible("caf\u00e9 \x1b[31mred\\n"))
    café \\x1b[31mred\\n
    """
    return _UNSAFE.sub(lambda match: ascii(match[0])[1:-1], text)


def visible_lines(text: str) -> str:
    """As `visible`, of several lines, whose ends stay."""
    return "\n".join(map(visible, text.split("\n")))


def say(text: str = "", file: TextIO | None = None) -> None:
    """Prints what is said to people, line by line as `visible`, and at once.

    file: a stream; by default standard output.
    """
    print(visible_lines(text), file=file or sys.stdout, flush=True)


def output(text: str) -> str:
    """A line of output, as a translation, for standard output: `visible` on a terminal, unchanged in a file or pipe."""
    return visible(text) if sys.stdout.isatty() else text


def use_utf8() -> None:
    """Standard output and error are UTF-8, as what is read is, whatever the locale or PYTHONIOENCODING says.

    What UTF-8 cannot write, as a byte of a file's name that is no character, becomes an escape.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
