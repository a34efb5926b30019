"""What a person sees while a corpus is made, and where it is made.

`guarded` says in a sentence that memory does not suffice; `patiently` says what takes long; `work_folder` is the hidden
folder beside a corpus, and `system_errors` makes sentences of what goes wrong there.
"""

import contextlib
import errno
import re
import resource
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from mt.common.input_files import reason
from mt.common.terminal import say
from mt.errors import UserError
from mt.storage import locked

_NO_MEMORY = re.compile("can't start new thread|bad_alloc")
_FIRST = 3.0
"""Seconds until the first line."""
_NEXT = 30.0


# Want of memory.


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Raises UserError where memory does not suffice, or no process or thread can begin."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # Arrow's and a library's, too
        if isinstance(error, RuntimeError) and not _NO_MEMORY.search(str(error)):
            raise
        raise UserError(
            f"memory does not suffice to prepare the corpus{_limit()}: set dataset.workers=1 and OMP_NUM_THREADS=1, or "
            "allow more memory; the same command goes on from what is finished"
        ) from error


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
