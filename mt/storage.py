"""Files and folders that are complete or absent, nothing written through a link, and a lock between processes.

Files come first, then folders, links and flushes, then the lock; the checks that all of them share are at the end.
"""

import contextlib
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import filelock

from mt.common.input_files import reason, require_regular
from mt.errors import UserError, unwritten

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


def write_json(path: Path, value: Any) -> None:
    """Writes a value as indented JSON, as `write_text`."""
    write_text(path, [json.dumps(value, indent=2, ensure_ascii=False)])


def write_text(path: Path, lines: Sequence[str]) -> None:
    """Writes lines of UTF-8, each with its newline. Makes the folder where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path) as file:
        # A byte of a file's name that is no character becomes an escape, which JSON reads back.
        file.write("".join(f"{line}\n" for line in lines).encode(errors="backslashreplace"))


@contextlib.contextmanager
def _named_in_errors(path: Path) -> Iterator[None]:
    """Puts the name of a file or folder into an OSError that is raised inside without one, as by a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """Opens a file to write, which takes the place of `path` at the end, flushed to the disk; after an error `path` is
    as before.

    Neither a link at `path` nor one at the name of the draft is followed.
    """
    # x: refuses what is there, a link too.
    with replaced_path(path, f".{path.name}.part") as draft, draft.open("xb") as file:
        yield file
        file.flush()
        # Before the file has its name: else a crash of the machine could leave an empty one.
        os.fsync(file.fileno())


@contextlib.contextmanager
def replaced_path(path: Path, name: str = "") -> Iterator[Path]:
    """Gives libraries that open files themselves the path of a draft, which takes the place of `path` at the end,
    without a flush. name: the draft's, where the usual one would not do."""
    draft = path.with_name(name or f"{path.name}.draft")
    with _named_in_errors(path):
        # A process that was killed may have left a draft; this one leaves none, not even after Ctrl-C.
        _discard(draft)
        try:
            yield draft
        except BaseException:
            _discard(draft)
            raise
        # A rename is atomic: whoever reads sees the old file or the new one, never half of it.
        draft.replace(path)


@contextlib.contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """Makes a new folder to write in, which takes the place of `path` at the end, flushed to the disk.

    A folder cannot replace another in one step: `repair` mends what a process left that died between the two.
    """
    draft = path.with_name(f".{path.name}.part")
    old = path.with_name(f".{path.name}.old")
    with _named_in_errors(path):
        # A draft, flushed to the disk before it has a name that anybody looks for.
        path.parent.mkdir(parents=True, exist_ok=True)
        _discard(draft)
        draft.mkdir()
        try:
            yield draft
            for written in (*draft.rglob("*"), draft):
                flush(written)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        # The exchange: a kill between the two steps leaves the old folder, by another name.
        _discard(old)
        with contextlib.suppress(FileNotFoundError):
            path.rename(old)
        draft.rename(path)
        flush(path.parent)
        _discard(old)


def repair(parent: Path) -> None:
    """Removes drafts and rubbish that a killed process left in a folder. A replaced folder gets its name back where the
    new one had not taken it yet. No other process may write in the folder meanwhile."""
    # First what is worth keeping, which would otherwise be taken for rubbish below.
    for old in parent.glob(".*.old"):
        path = parent / old.name.removeprefix(".").removesuffix(".old")
        if not (path.exists() or path.is_symlink()):
            old.rename(path)
    for ending in ("part", "old", "trash"):
        for path in parent.glob(f".*.{ending}"):
            _discard(path)


def remove(path: Path) -> None:
    """Removes a folder, or a link to one, at once, where it exists: no other process sees half of it."""
    if path.is_dir():
        trash = path.with_name(f".{path.name}.trash")
        _discard(trash)
        # After the rename the name is free at once, however long the removal takes.
        path.rename(trash)
        _discard(trash)


def point_link(link: Path, folder: Path) -> None:
    """Makes `link` point to a folder beside it, atomically."""
    draft = link.with_name(f".{link.name}.part")
    draft.unlink(missing_ok=True)
    # A link cannot be changed in place: a new one is renamed over it.
    draft.symlink_to(folder.name)
    if not link.is_symlink():
        remove(link)  # a folder, which a copy of the link became
    draft.replace(link)
    flush(link.parent)


def require_writable(path: Path, name: str = "", *, is_file: bool = False) -> None:
    """Raises UserError if no file can be written into a folder. Called before long work that will write there.

    A folder that is missing is not made: the one above it is tried. name: what to call the path. is_file: whether it is
    that of a file, which will be replaced, and so is no device.
    """
    folders = path.absolute().parents if is_file else (path, *path.absolute().parents)
    # A missing folder is going to be made in the nearest one above that exists.
    above = next(folder for folder in folders if os.path.lexists(folder))
    try:
        if is_file and os.path.lexists(path):
            require_regular(path)
        # Only trying tells: permissions say nothing of a disk that is mounted read-only.
        with tempfile.TemporaryFile(dir=above):
            pass
    except OSError as error:
        raise UserError(unwritten(name or path, error, f"give another {'file' if is_file else 'folder'}")) from None


def require_new(folder: Path) -> None:
    """Raises UserError if a folder is there already, before anything in it is replaced."""
    if folder.exists():
        raise UserError(f"{folder} is there already: name a new folder, or remove it")


def subfolder(parent: Path, name: str) -> Path:
    """Returns a folder inside another, made where it is missing. Raises UserError where a link leads elsewhere."""
    path = parent / name
    refuse_link(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def open_to_append(path: Path) -> TextIO:
    """Opens a text file to append lines to, each written at its end; makes it where it is missing. Raises UserError
    where anything but a regular file has its name."""
    _refuse_irregular(path)
    # What takes its place after that is not followed, nor waited for.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666), "a", buffering=1, encoding="utf-8")


def refuse_link(path: Path) -> None:
    """Raises UserError where `path` is a link, which would lead a write elsewhere."""
    if path.is_symlink():
        raise UserError(f"{path} is a link to {os.readlink(path)}, and nothing is written through links: remove it")


def flush(path: Path) -> None:
    """Flushes the content of a file, or the names in a folder, to the disk."""
    # For reading, since a folder cannot be opened otherwise.
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Lets one process in at a time. The lock ends with its process, and only a kill leaves the file.

    waiting: called where another process holds the lock, before waiting for it; without it BlockingIOError is raised.
    """
    _refuse_irregular(path)
    lock = filelock.FileLock(path)
    try:
        # Without waiting at first, so that the caller can tell the user why it waits.
        lock.acquire(blocking=False)
    except filelock.Timeout:
        if waiting is None:
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK), str(path)) from None
        waiting()
        lock.acquire()
    except OSError as error:
        # Some network file systems have no locks: their users look after themselves.
        if error.errno not in _NO_LOCKS:
            raise
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # whoever waits sees that, and takes a new file
        lock.release()


def _refuse_irregular(path: Path) -> None:
    """Raises UserError where something is there that is no regular file."""
    refuse_link(path)
    try:
        if path.exists():
            require_regular(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written ({reason(error)}): remove it") from None


def _discard(path: Path) -> None:
    """Removes a folder with all that it holds, a file, or a link alone, where there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
