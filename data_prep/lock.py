"""A lock between processes that leaves no file behind."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from mt.errors import UserError


@contextlib.contextmanager
def locked(path: Path, progress: bool) -> Iterator[None]:
    """For one process at a time; others wait, and say so where there is `progress`. Only a kill leaves the file.

    Raises UserError where a link stands in place of the file.
    """
    while True:
        with _opened(path) as lock:
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


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A descriptor of the file, which is made where it is missing; nothing is written or cut."""
    if path.is_symlink():
        raise UserError(f"{path} is a link, where the lock of a preparation belongs: delete it")
    # Should a link come between, this is refused by the system.
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        yield lock
    finally:
        os.close(lock)


def _is_at(path: Path, lock: int) -> bool:
    """Whether the name is still that of the open file."""
    try:
        return os.path.samestat(os.fstat(lock), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False
