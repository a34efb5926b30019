"""What a person sees while a corpus is made, and where it is made.

`guarded` says in a sentence that memory does not suffice, also where a library ends the process before a line of Python
can say anything; `patiently` says what takes long; `work_folder` is the hidden folder beside a corpus, and
`system_errors` makes sentences of what goes wrong there.
"""

import contextlib
import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import FrameType

from mt.common.input_files import reason
from mt.common.terminal import say
from mt.errors import UserError
from mt.storage import locked

_WATCH = 'trap "" INT TERM; read -r line || printf "%s\\n" "$1" >&2'
"""A shell waits for a line that says that all is done, or for the end of who would write it."""
_FIRST = 3.0
"""Seconds until the first line."""
_NEXT = 30.0
SETTINGS = "settings.json"
"""The options of the corpus, in its work folder."""


# Want of memory.


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
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        # Nothing is waited for: another signal may come within, and would wait for the same lock.
        if watch is not None and watch.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                os.write(watch.stdin.fileno(), b"end\n")
        handlers[number](number, frame)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
            handler = signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler
                signal.signal(number, handle)
    try:
        yield
    finally:
        for signal_number, previous in handlers.items():
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


# Patience.


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


# The hidden folder in which a corpus is made.


def work_folder_of(folder: Path) -> Path:
    """Returns where the corpus `folder` is made."""
    return folder.with_name(f".{folder.name}.partial")


@contextlib.contextmanager
def exclusive(folder: Path, progress: bool) -> Iterator[None]:
    """Lets one process at a time make the corpus `folder`."""
    with system_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder.with_name(f".{folder.name}.lock"), waiting(folder, progress)):
            yield


@contextlib.contextmanager
def work_folder(folder: Path) -> Iterator[Path]:
    """Makes the folder to make the corpus `folder` in. An interruption leaves it, to go on from."""
    work = work_folder_of(folder)
    with system_errors(folder):
        work.parent.mkdir(parents=True, exist_ok=True)
        _discard_links(work)
        work.mkdir(exist_ok=True)
        yield work


@contextlib.contextmanager
def system_errors(folder: Path) -> Iterator[None]:
    """Makes a sentence of what the system refuses."""
    work = work_folder_of(folder)
    try:
        yield
    except BrokenPipeError:
        raise  # what is printed is read no more, which is not about the corpus
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "free disk space" if full else f"make {work.parent} a folder that may be written"
        place = f"{error.filename}: " if error.filename else ""
        raise UserError(
            f"the corpus could not be written ({place}{reason(error)}): {remedy}; the same command goes on from "
            f"what is finished, in {work}"
        ) from error
    except BrokenProcessPool as error:
        raise UserError(
            "a process of the preparation was killed, most likely for want of memory: set dataset.workers to fewer "
            f"processes. The same command goes on from what is finished, in {work}"
        ) from error


def waiting(folder: Path, progress: bool) -> Callable[[], None]:
    return lambda: say(f"waiting for another preparation in {folder}") if progress else None


def _discard_links(work: Path) -> None:
    """Deletes what is left of a preparation where it has links, since it makes none: files elsewhere stay whole."""
    if work.is_symlink():
        work.unlink()
    elif any(path.is_symlink() for path in work.rglob("*")):
        shutil.rmtree(work)
