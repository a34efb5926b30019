"""The hidden folder beside a corpus in which it is made, and what goes wrong there as sentences."""

import contextlib
import errno
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from mt.common.input_files import reason
from mt.common.terminal import say
from mt.errors import UserError
from mt.storage import locked

SETTINGS = "settings.json"
"""The options of the corpus, in its work folder."""


def work_folder_of(folder: Path) -> Path:
    """Returns where the corpus `folder` is made."""
    return folder.with_name(f".{folder.name}.partial")


@contextlib.contextmanager
def exclusive(folder: Path, progress: bool) -> Iterator[None]:
    """Lets one process at a time make corpora in the folder that holds `folder`."""
    with system_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder.parent / ".lock", waiting(folder.parent, progress)):
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
            f"processes; the same command goes on from what is finished, in {work}"
        ) from error


def waiting(folder: Path, progress: bool) -> Callable[[], None]:
    return lambda: say(f"waiting for another preparation in {folder}") if progress else None


def _discard_links(work: Path) -> None:
    """Deletes what is left of a preparation where it has links, since it makes none: files elsewhere stay whole."""
    if work.is_symlink():
        work.unlink()
    elif any(path.is_symlink() for path in work.rglob("*")):
        shutil.rmtree(work)
