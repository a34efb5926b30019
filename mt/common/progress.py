"""How far long work has come: a bar on a terminal, a line every so often in a log file or a pipe.

The one door to tqdm.
"""

import os
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from tqdm import tqdm

from mt.common.terminal import say
from mt.errors import visible_lines

SECONDS = 30.0
"""Between lines in a log file or a pipe."""
_MANY = 1_000_000  # of which thousands or millions are shown
_COLUMNS = 80
_ROWS = 24
"""Of a terminal that does not say how large it is."""


class Bar:
    """What is done of some work, on standard error while the context lasts."""

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
            total: of the units, None where unknown; done: of these before this process.
            leave: whether the bar stays on the terminal at the end.
            seconds: between lines where there is no terminal; None: no lines.
        """
        self._name = name
        self._total = total
        self._unit = unit
        self._done = done
        self._bar = _bar(name, total, unit, done, leave) if shown and sys.stderr.isatty() else None
        self._seconds = seconds if shown and self._bar is None else None
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, count: int = 1) -> None:
        """After `count` more units."""
        self._done += count
        if self._bar is not None:
            self._bar.update(count)
        elif self._seconds is not None and time.monotonic() - self._said >= self._seconds:
            self._said = time.monotonic()
            of = "" if self._total is None else f" of {self._total:,}"
            say(f"{self._name}: {self._done:,}{of} {self._unit}", sys.stderr)

    def note(self, values: Mapping[str, object]) -> None:
        """What a bar shows beside it from now on."""
        if self._bar is not None:
            self._bar.set_postfix(values, refresh=False)


def say_beside(text: str) -> None:
    """Prints what is said to people to standard output, without tearing a bar, and at once."""
    tqdm.write(visible_lines(text), file=sys.stdout)
    sys.stdout.flush()


def _bar(name: str, total: int | None, unit: str, done: int, leave: bool) -> tqdm:
    try:
        wide = os.get_terminal_size(sys.stderr.fileno()).columns > 0
    except OSError:
        wide = False
    return tqdm(
        desc=name,
        total=total,
        initial=done,
        unit=f" {unit}",
        unit_scale=total is not None and total >= _MANY,
        leave=leave,
        ncols=None if wide else _COLUMNS,
        nrows=None if wide else _ROWS,
        dynamic_ncols=wide,
    )
