"""Want of memory as a sentence, also where a library ends the process before a line of Python can say anything."""

import contextlib
import os
import resource
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from mt.errors import UserError

_WATCH = 'trap "" INT TERM; read -r line || printf "%s\\n" "$1" >&2'
"""A shell waits for a line that says that all is done, or for the end of who would write it."""


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Raises UserError where memory does not suffice. Where the process ends in the midst of it, by a library's `abort`
    or the system's SIGKILL, a watching shell says why, most likely."""
    sentence = (
        f"memory does not suffice to prepare the corpus{_limit()}: set dataset.workers=1, and OMP_NUM_THREADS=1 in the "
        "environment, or allow more memory; the same command goes on from what is finished"
    )
    watch = _watch(f"error: the preparation was ended from outside of it, or {sentence}")
    try:
        with _explained_by_handlers(watch):
            yield
    except MemoryError as error:  # Arrow's, too
        raise UserError(sentence) from error
    except RuntimeError as error:
        if "can't start new thread" in str(error) or "bad_alloc" in str(error):
            raise UserError(sentence) from error
        raise
    finally:
        _dismiss(watch)


@contextlib.contextmanager
def _explained_by_handlers(watch: subprocess.Popen[bytes] | None) -> Iterator[None]:
    """Where a signal has a handler, as those of queues have, the handler says why the process ends, and the shell
    nothing."""
    before: dict[int, Callable[[int, FrameType | None], object]] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        # Nothing is waited for: another signal may come within, and would wait for the same lock.
        if watch is not None and watch.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                os.write(watch.stdin.fileno(), b"end\n")
        before[number](number, frame)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, handle)
    try:
        yield
    finally:
        for signal_number, previous in before.items():
            signal.signal(signal_number, previous)


def _dismiss(watch: subprocess.Popen[bytes] | None) -> None:
    """Ends the shell, which then says nothing."""
    if watch is not None:
        with contextlib.suppress(OSError):
            watch.communicate(b"end\n")


def _watch(sentence: str) -> subprocess.Popen[bytes] | None:
    """Starts the shell; None where there is none."""
    try:
        command = ["/bin/sh", "-c", _WATCH, "sh", sentence]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    except OSError:
        return None


def _limit() -> str:
    """Says what this process' memory is limited to, where it is."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return "" if most == resource.RLIM_INFINITY else f" within the {most / 1e9:.1f} GB of its limit (ulimit -v)"
