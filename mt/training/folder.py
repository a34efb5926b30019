"""The folder of a run: made, and found."""

import itertools
from pathlib import Path

from mt import checkpoint
from mt.errors import UserError


def new_folder(wanted: Path) -> Path:
    """Makes the run's folder; a number is appended where the name is taken. Raises UserError where it can have none."""
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
    """The run folder that is meant by its own name, or by that of one of its checkpoints."""
    for folder in (path, path.resolve()):
        if folder.parent.name == "checkpoints" and not (folder / "checkpoints").exists():
            return folder.parent.parent
    if (path / checkpoint.META).is_file():
        raise UserError(f"{path} is a checkpoint without its run: resume the run folder that training printed")
    return path
