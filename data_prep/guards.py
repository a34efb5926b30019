"""Messages while a corpus is made: what takes long, and sentences for errors of the system."""

import contextlib
import errno
import re
import sys
import threading
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from mt.common.input_files import reason
from mt.common.terminal import say
from mt.errors import UserError

_NO_MEMORY = re.compile("can't start new thread|bad_alloc")
_PATIENCE = 3.0
"""Seconds until a line."""


@contextlib.contextmanager
def patiently(doing: str, shown: bool = True) -> Iterator[None]:
    """Prints what is being done if it takes longer than three seconds. shown: False prints nothing."""
    timer = threading.Timer(_PATIENCE, say, (f"{doing} ...", sys.stderr))
    timer.daemon = True
    if shown:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextlib.contextmanager
def system_errors(root: Path) -> Iterator[None]:
    """Raises UserError in place of errors of the disk and of memory, while a corpus is made below `root`."""
    again = "the same command goes on from what is finished"
    try:
        yield
    except BrokenPipeError:
        raise  # nobody reads the output any more, which has nothing to do with the corpus
    except OSError as error:
        # The disk is full, or may not be written.
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "free disk space" if full else f"make {root} a folder that may be written"
        place = f"{error.filename}: " if error.filename else ""
        raise UserError(f"the corpus could not be written ({place}{reason(error)}): {remedy}; {again}") from error
    except BrokenProcessPool as error:
        raise UserError(
            "a process of the preparation was killed, most likely for want of memory: set dataset.workers to fewer "
            f"processes; {again}"
        ) from error
    except (MemoryError, RuntimeError) as error:  # Arrow's and a library's, too
        if isinstance(error, RuntimeError) and not _NO_MEMORY.search(str(error)):
            raise
        raise UserError(
            "memory does not suffice to prepare the corpus: set dataset.workers=1 and OMP_NUM_THREADS=1, or allow more "
            f"memory (ulimit -v); {again}"
        ) from error
