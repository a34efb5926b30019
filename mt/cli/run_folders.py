"""Names the folders of runs: the resolvers that conf/config.yaml calls for `hydra.run.dir` and `hydra.sweep`."""

import atexit
import contextlib
import itertools
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from mt import checkpoint
from mt.cli.composition import STATUS
from mt.errors import UserError, reported
from mt.training.start import AUTO, RUN, run_of

_LONGEST_NAME = 120


def register() -> None:
    """Makes the resolvers known to OmegaConf."""
    # The first call makes the folder, and later ones must return the same name.
    OmegaConf.register_new_resolver("run_folder", _run_folder, replace=True, use_cache=True)
    OmegaConf.register_new_resolver("record_folder", _record_folder, replace=True)
    OmegaConf.register_new_resolver("sweep_folder", _sweep_folder, replace=True)
    OmegaConf.register_new_resolver("sweep_name", _sweep_name, replace=True)


def _run_folder(chosen: Any, resume: Any, default: str) -> str:
    """Returns the folder of a single run: the folder of the run to resume, else a new one, which it makes. Where no run
    begins in it, nothing is left of it at the end of the process.

    chosen: the option `folder`, or None. resume: the option `resume`: a run, `auto` or None. default: used where
    `folder` is None.
    """
    with reported(STATUS):  # OmegaConf would bury a refusal in its own
        if resume not in (None, AUTO):
            run = run_of(Path(str(resume)))
            checkpoint.locate(run, "last")
            return str(run)
        wanted = Path(default if chosen is None else str(chosen))
        # Looked up before the folder is made, since only what was not there may be removed again.
        there = {path for path in (wanted, *wanted.parents) if path.exists()}
        folder = wanted if resume == AUTO else new_folder(wanted)
        made = [path.absolute() for path in (folder, *folder.parents) if path not in there]
        atexit.register(_forget, folder.absolute(), made)
        return str(folder)
    raise AssertionError("`reported` ends the process")


def _forget(folder: Path, made: Sequence[Path]) -> None:
    """Removes the record of Hydra and the folders that were made, the innermost first, where no run has begun."""
    if not (folder / RUN).exists():
        shutil.rmtree(folder / ".hydra", ignore_errors=True)
        for path in made:
            with contextlib.suppress(OSError):  # something else was written there
                path.rmdir()


def new_folder(wanted: Path) -> Path:
    """Makes the folder of a run, with a number appended where the name is taken."""
    if wanted.name in ("", "..") or "\0" in str(wanted):
        raise UserError(f"folder={wanted} names no folder to make: write the path of a new one, such as outputs/mine")
    wanted.parent.mkdir(parents=True, exist_ok=True)
    numbered = (wanted.with_name(f"{wanted.name}-{number}") for number in itertools.count(2))
    # mkdir fails where another process was quicker, so that no two runs share a folder.
    for folder in itertools.chain([wanted], numbered):
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError("numbers do not end")


def _record_folder(resume: Any) -> str:
    """Returns where in its folder Hydra records a run; a resumed one keeps the record of its beginning."""
    return ".hydra" if resume in (None, AUTO) else ".hydra/resumed"


def _sweep_folder(chosen: Any, default: str) -> str:
    return default if chosen is None else str(chosen)


def _sweep_name(overrides: str, number: Any) -> str:
    """Returns a name for a job of a sweep: what the command line sets, such as `attention-mocha+seed-1`. Characters
    that a file system or a shell may not take become hyphens."""
    # A long name is cut, and the number of the job keeps it apart from others.
    plain = re.sub(r"[^\w.+-]+", "-", str(overrides).replace("=", "-"), flags=re.ASCII).strip("-")
    return plain if 0 < len(plain) <= _LONGEST_NAME else f"{plain[:_LONGEST_NAME]}_{number}"
