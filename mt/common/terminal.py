"""Prints for people and terminals: text without control characters, then progress, as a bar or as lines of a log.

No text of data or files can give a terminal an order. The one door to tqdm."""

import sys
import time
from collections.abc import Mapping
from typing import Self, TextIO

from tqdm import tqdm

from mt.errors import visible, visible_lines

# Text, in which nothing can give a terminal an order.


def say(text: str = "", file: TextIO | None = None) -> None:
    """Prints a message for people, line by line as `visible`, and at once.

    file: a stream; by default standard output.
    """
    print(visible_lines(text), file=file or sys.stdout, flush=True)


def note(*texts: str | None) -> None:
    """Prints notes for the user on standard error, a line each; nothing for None."""
    for text in filter(None, texts):
        say(f"note: {text}", sys.stderr)


def output(text: str) -> str:
    """Returns a line of output, as a translation, for standard output: `visible` on a terminal, unchanged in a file or
    pipe."""
    return visible(text) if sys.stdout.isatty() else text


# How far long work has come: a bar on a terminal, or a line every so often in a log file or a pipe.

SECONDS = 30.0
"""The seconds between lines in a log file or a pipe."""
_MANY = 1_000_000  # units, from which on a bar counts thousands or millions


class Bar:
    """Shows how much of some work is done, on standard error while the context lasts."""

    def __init__(
        self,
        name: str,
        total: int | None,
        unit: str,
        *,
        done: int = 0,
        shown: bool = True,
        leave: bool = True,
        seconds: float | None = SECONDS,
    ) -> None:
        """
        Args:
            total: how many units there are, None where unknown; done: how many of them are done already.
            leave: whether the bar stays on the terminal at the end.
            seconds: between lines where there is no terminal; None: no lines.
        """
        self._name = name
        self._total = total
        self._unit = unit
        self._done = done
        # A bar is for a terminal. Elsewhere there is a line every so often.
        self._bar: tqdm | None = None
        if shown and sys.stderr.isatty():
            self._bar = tqdm(
                desc=name,
                total=total,
                initial=done,
                unit=f" {unit}",
                unit_scale=total is not None and total >= _MANY,
                leave=leave,
                dynamic_ncols=True,
            )
        self._seconds = seconds if shown and self._bar is None else None
        self._shown_at = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, count: int = 1) -> None:
        """Counts `count` more units as done."""
        # A bar draws itself; in a log a line comes when enough time has passed.
        self._done += count
        if self._bar is not None:
            self._bar.update(count)
        elif self._seconds is not None and time.monotonic() - self._shown_at >= self._seconds:
            self._shown_at = time.monotonic()
            of = "" if self._total is None else f" of {self._total:,}"
            say(f"{self._name}: {self._done:,}{of} {self._unit}", sys.stderr)

    def note(self, values: Mapping[str, object]) -> None:
        """Shows values beside a bar from now on."""
        if self._bar is not None:
            # Drawn with the next update, so that a value alone costs no line.
            self._bar.set_postfix(values, refresh=False)


def say_beside(text: str) -> None:
    """Prints a message for people to standard output, without tearing a bar, and at once."""
    # tqdm clears its bar, prints, and draws the bar again.
    tqdm.write(visible_lines(text), file=sys.stdout)
    sys.stdout.flush()
