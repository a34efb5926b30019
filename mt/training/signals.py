"""Signals that ask a run to end: it finishes its update and saves, and does not die on the spot.

The signals of a terminal (Ctrl-C, SIGHUP) end it for good. After the signals of a queue, `QUEUE`, it goes on elsewhere.
`leave_at_once` handles them until a run has begun, and `Signals` within one.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Self

from mt.errors import Interrupted, Preempted

QUEUE = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
"""The signals of clusters before they take a machine away: SLURM sends the first, or the one of its options; submitit
the last."""
_ENDING = (signal.SIGINT, signal.SIGHUP, *QUEUE)
_NOTICE = "\n{}: finishing the update, then saving; {} ends at once, from the last checkpoint\n"
_LEFT = "interrupted by {}: no update is lost; run the same command again\n"
_LEFT_TOGETHER = (
    "interrupted by {}, as all processes are where one has ended: what is saved is kept; where nothing else is told, "
    "run the same command again\n"
)


def interruption(number: int, message: str = "") -> Interrupted:
    """Returns the exception of a signal. The message, where there is one, says how to go on."""
    return Preempted(number, message) if number in QUEUE else Interrupted(number, message)


def leave_at_once(rank: int | None = None) -> None:
    """Lets a signal of a queue end the process as a kill would, but with the status of `Preempted`, until a run
    installs its handlers. By then no work has begun that could be lost. Entry points call it first.

    An exception would not do while modules load: many catch it, or print a trace.

    rank: of this process, where several train together; None where it is alone.
    """
    if threading.current_thread() is threading.main_thread():
        for number in QUEUE:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _Leave(rank))


@dataclass(frozen=True)
class _Leave:
    """The handler that `leave_at_once` installs. Of several processes, the first writes why they end."""

    rank: int | None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(Exception):  # either may be closed, or be just at it
            sys.stdout.flush()
            if not self.rank:
                sentence = _LEFT if self.rank is None else _LEFT_TOGETHER
                os.write(2, sentence.format(signal.Signals(number).name).encode())
        os._exit(Preempted(number).status)


class Signals:
    """A context in which a signal raises Interrupted at the next `check`, or at once inside of `at_once`.

    A second Ctrl-C raises KeyboardInterrupt anywhere; other signals that follow the first are ignored. An earlier
    handler is called at the end, when all is saved, since it may end the process, as submitit's does.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        """The first signal that has come; None where none has."""
        self._received: list[signal.Signals] = []
        self._at_once = False
        self._second_came = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        # Python delivers signals to the main thread alone. What a shell or nohup ignores stays ignored.
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, raised: object, *_: object) -> None:
        handlers = self._before
        self._before = {}
        for number, handler in handlers.items():
            # The process is about to end then, and no signal meanwhile may change its status.
            ignored = isinstance(handler, _Leave) and self._received and raised
            signal.signal(number, signal.SIG_IGN if ignored else handler)
        # An earlier handler may end the process, so that it is called when all of them are back.
        for number in self._received:
            if _is_foreign(handler := handlers[number]):
                handler(number, None)

    def check(self) -> None:
        """Raises Interrupted where a signal has come."""
        if self.received is not None:
            raise interruption(self.received)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Makes a signal interrupt the code inside at any place, since its result can be computed again."""
        outer = self._at_once
        self._at_once = True
        try:
            self.check()
            yield
        finally:
            self._at_once = outer

    def _handle(self, number: int, frame: FrameType | None) -> None:
        is_first = self.received is None
        self.received = self.received or signal.Signals(number)
        if number not in self._received:
            self._received.append(signal.Signals(number))
        # Only once: nothing is to interrupt what the exception passes on its way.
        if self._at_once:
            self._at_once = False
            self.check()
        if is_first:
            # Not `print`, which the signal may have interrupted.
            again = "Ctrl-C once more" if number == signal.SIGINT else "Ctrl-C"
            os.write(2, _NOTICE.format(self.received.name, again).encode())
        elif number == signal.SIGINT and not self._second_came:
            self._second_came = True
            raise KeyboardInterrupt


def _is_foreign(handler: Callable[..., object] | int) -> bool:
    """Returns whether somebody else put a function there."""
    return callable(handler) and not isinstance(handler, _Leave) and handler is not signal.default_int_handler
