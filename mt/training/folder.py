"""The folder of a run: how it is made, marked, looked up and locked."""

import contextlib
import itertools
from pathlib import Path

from mt import checkpoint
from mt.common.input_files import read_json
from mt.common.options import Options, parse
from mt.distributed import ProcessGroup
from mt.errors import UserError
from mt.storage import locked, write_json

RUN = "run.json"
"""Tells a folder for a run's, and in which format it is."""


class RunFile(Options):
    """`run.json`."""

    format: int


def new_folder(wanted: Path) -> Path:
    """Makes the run's folder; appends a number where the name is taken. Raises UserError where the path names none."""
    if wanted.name in ("", "..") or "\0" in str(wanted):
        raise UserError(f"folder={wanted} names no folder to make: write the path of a new one, such as outputs/mine")
    wanted.parent.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise AssertionError("unreachable: count never ends")


def run_of(path: Path) -> Path:
    """Returns the run folder that a path names: itself, or the folder of the checkpoint that it is."""
    for folder in (path, path.resolve()):
        if folder.parent.name == "checkpoints" and not (folder / "checkpoints").exists():
            return folder.parent.parent
    if (path / checkpoint.META).is_file():
        raise UserError(f"{path} is a checkpoint without its run: resume the run folder that training printed")
    return path


def mark(folder: Path) -> None:
    """Writes `run.json`, by which a folder is known as a run's."""
    write_json(folder / RUN, RunFile(format=checkpoint.FORMAT).model_dump())


def take(folder: Path, processes: ProcessGroup) -> contextlib.ExitStack:
    """Locks a run's folder; of several processes the first does. Raises UserError where others hold the lock."""
    stack = contextlib.ExitStack()
    if not processes.is_first:
        return stack
    try:
        stack.enter_context(locked(folder / ".lock"))
    except BlockingIOError:
        raise UserError(f"another process trains in {folder}: wait for its end, or start a new run") from None
    return stack


def require_format(folder: Path) -> None:
    """Raises UserError where the run is of another format."""
    path = folder / RUN
    checkpoint.load_meta(checkpoint.locate(folder, "last"))
    if not path.is_file():
        raise UserError(f"{path} is missing: copy the whole run folder again")
    about = parse(read_json(path, "copy the whole run folder again"), RunFile, str(path))
    if about.format != checkpoint.FORMAT:
        raise UserError(
            f"{folder} is a run of format {about.format}, and this version goes on with {checkpoint.FORMAT}: resume it "
            "with the version that began it, or train again"
        )
