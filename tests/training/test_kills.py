"""A process that dies at any moment: the run that goes on from what it left is one that did not die."""

import contextlib
import math
import os
import shutil
from pathlib import Path

import pytest

from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus
from mt.evaluation.score import Validation
from mt.training import train as training, validation
from mt.training.run import Run
from mt.training.start import begin, resume
from mt.training.train import choose_best, train
from tests.marks import exhaustive
from tests.training.runs import Deaths, Killed, chosen, left

pytestmark = pytest.mark.usefixtures("foreground")


def opened(config: Config, corpus: Corpus, folder: Path) -> Run:
    """As `resume=auto` opens it."""
    return resume(config, corpus, folder) if checkpoint.newest(folder) else begin(config, corpus, folder)


def copied(began: Path, folder: Path) -> Path:
    return Path(shutil.copytree(began, folder, symlinks=True)) if began.exists() else folder


# While files, folders and links get their names.

NAMING = [(os, name) for name in ("rename", "replace", "symlink")]
LOSSES = {2: 5.0, 4: 3.0, 6: 4.0}
AVERAGED = {4: 2.5, 6: 2.0}
"""Of the average that is tried at the end of a run with so many updates: better than all before."""


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(run: Run) -> Validation:
        at_the_end = run.progress.update in run.progress.validations
        return Validation({"loss": (AVERAGED if at_the_end else LOSSES)[run.progress.update]}, [], {})

    for module in (validation, training):
        monkeypatch.setattr(module, "measure", measure)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # slow, and of no account here


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize(
    ("before", "end", "averaged", "best"),
    [
        (4, 6, 2, 0),
        *exhaustive((0, 6, 1, 4), (0, 4, 2, 0)),  # new runs, without an average and with one
    ],
)
def test_a_death_at_any_moment_of_saving_changes_nothing(before, end, averaged, best, configure, corpus, tmp_path):
    """before: the updates of an earlier process that ended well, with an average as the best; best: of the updates, 0
    where it is an average."""

    def config(max_updates: int) -> Config:
        often = {"validate_every": 2, "save_every": 1, "log_every": 1, "plots": 0, "metric": "loss"}
        options = often | {"max_updates": max_updates, "average_checkpoints": averaged}
        return configure({"training": options, "embedding": {"embedding_dim": 32, "dropout": 0.2}})

    began = tmp_path / "began"
    if before:
        chosen(begin(config(before), corpus, began))
        assert os.readlink(began / "checkpoints/best") == "average"

    def process(folder: Path, number: float) -> int:
        run = opened(config(end), corpus, copied(began, folder))
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
            deaths = Deaths(patch, NAMING, number)
            train(run)
            choose_best(run)
        run.close()
        return deaths.count

    total = process(tmp_path / "straight", math.inf)
    expected = left(tmp_path / "straight")
    kept = {f"update-{update:07d}": "" for update in (end - 2, end)} | ({} if best else {"average": ""})
    links = {"best": f"update-{best:07d}" if best else "average", "last": f"update-{end:07d}"}
    assert expected["names"] == kept | links
    assert total > 20
    unsaved = 0
    for number in range(total):
        folder = tmp_path / str(number)
        assert process(folder, number) == number + 1
        if checkpoint.newest(folder) is None:
            unsaved += 1
            continue
        chosen(resume(config(end), corpus, folder))
        assert left(folder) == expected, f"died at call {number} of {total}"
        shutil.rmtree(folder)
    assert unsaved == (0 if before else 5)  # before the first checkpoint has its name
