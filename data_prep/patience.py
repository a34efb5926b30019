"""A line on standard error where something takes long that has no bar."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

from mt.common.terminal import say

_FIRST = 3.0
"""Seconds until the first line."""
_NEXT = 30.0


@contextlib.contextmanager
def patiently(doing: str, shown: bool = True, *, first: float = _FIRST) -> Iterator[None]:
    """Says what is being done where it takes longer than three seconds, and again every half minute.

    shown: False says nothing. first: seconds until the first line.
    """
    ended = threading.Event()
    watch = threading.Thread(target=_repeat, args=(doing, ended, first), daemon=True)
    if shown:
        with contextlib.suppress(RuntimeError):  # where no thread can begin, it goes on without
            watch.start()
    try:
        yield
    finally:
        ended.set()
        if watch.is_alive():
            watch.join()


def _repeat(doing: str, ended: threading.Event, first: float) -> None:
    began = time.monotonic()
    wait = first
    while not ended.wait(wait):
        passed = time.monotonic() - began
        with contextlib.suppress(OSError, ValueError):  # standard error may be closed
            say(f"{doing} ({passed:.0f} s)" if wait == _NEXT else f"{doing} ...", sys.stderr)
        wait = _NEXT
