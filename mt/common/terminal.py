"""Prints for people and terminals: no text of data or files can give a terminal an order."""

import os
import sys
from typing import TextIO

from mt.errors import visible, visible_lines


def say(text: str = "", file: TextIO | None = None) -> None:
    """Prints a message for people, line by line as `visible`, and at once.

    file: a stream; by default standard output.
    """
    print(visible_lines(text), file=file or sys.stdout, flush=True)


def output(text: str) -> str:
    """Returns a line of output, as a translation, for standard output: `visible` on a terminal, unchanged in a file or
    pipe."""
    return visible(text) if sys.stdout.isatty() else text


def can_redraw(file: TextIO) -> bool:
    """Returns whether a stream is a terminal on which a line can be drawn anew."""
    return file.isatty() and os.environ.get("TERM") != "dumb"


def has_colour(file: TextIO) -> bool:
    """Returns whether a stream is a terminal that shows colours, and nobody has asked for none (no-color.org)."""
    return can_redraw(file) and not os.environ.get("NO_COLOR")
