"""`resume=auto`: one command for the first start of a run, and for all that follow when a queue took its machine."""

from pathlib import Path

from mt.config import Config
from mt.data.corpus import Corpus
from mt.distributed import ALONE, ProcessGroup
from mt.errors import UserError
from mt.storage import repair, subfolder
from mt.training.run import Run
from mt.training.start import begin

AUTO = "auto"
"""What `resume=` takes in place of a run folder."""


def begin_in(folder: Path, config: Config, corpus: Corpus, processes: ProcessGroup = ALONE) -> Run:
    """Begins a new run in this folder and no other, where an earlier start may have left all but a checkpoint.

    Raises UserError as `begin` does, and where another process trains there, or has trained there meanwhile.
    """
    run = begin(config, corpus, folder, processes, _made)
    if processes.is_first:
        repair(subfolder(folder, run.checkpoints.name))
    return run


def _made(folder: Path) -> Path:
    """Makes the folder where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UserError(f"folder={folder} is a file, or within one: give the path of a folder") from None
    return folder
