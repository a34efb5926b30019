"""Signals that ask a run to end: it finishes its update and saves, where it would have died on the spot."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Self

from mt.errors import Interrupted

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NOTICE = "\n{}: finishing the update, then saving; Ctrl-C once more ends at once, from the last checkpoint\n"


class Signals:
    """A context in which a signal raises Interrupted at the next `check`, or at once inside of `at_once`.

    A second Ctrl-C raises KeyboardInterrupt anywhere; other signals that follow the first are ignored.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._at_once = self._given_up = False
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        # Python delivers signals to the main thread alone. What a shell or nohup ignores stays ignored.
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        self._before.clear()

    def check(self) -> None:
        """Raises Interrupted where a signal has come."""
        if self.received is not None:
            raise Interrupted(self.received)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """For what may be cut short anywhere, since nothing of it is kept."""
        before, self._at_once = self._at_once, True
        try:
            self.check()
            yield
        finally:
            self._at_once = before

    def _handle(self, number: int, frame: FrameType | None) -> None:
        first, self.received = self.received is None, self.received or signal.Signals(number)
        if self._at_once:
            self._at_once = False
            self.check()
        if first:
            # Not `print`, which the signal may have interrupted.
            os.write(2, _NOTICE.format(self.received.name).encode())
        elif number == signal.SIGINT and not self._given_up:
            self._given_up = True
            raise KeyboardInterrupt
