"""A lock between processes that leaves no file behind."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def locked(path: Path, progress: bool) -> Iterator[None]:
    """For one process at a time; others wait, and say so where there is `progress`. Only a kill leaves the file."""
    while True:
        with path.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if progress:
                    print(f"waiting for another preparation in {path.parent}")
                fcntl.flock(lock, fcntl.LOCK_EX)
            # Whoever held it has deleted it, and others may hold a new file of this name already.
            if _is_at(path, lock):
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return


def _is_at(path: Path, file: IO[str]) -> bool:
    """Whether the name is still that of the open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
