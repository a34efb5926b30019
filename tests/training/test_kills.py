"""A process that dies at any moment: the run that goes on from what it left is one that did not die."""

import contextlib
import math
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.summary.writer import event_file_writer

from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus
from mt.errors import Interrupted
from mt.evaluation import report as reporting
from mt.evaluation.score import Validation, dev_scores
from mt.training import train as training, validation
from mt.training.log import Log
from mt.training.run import Run
from mt.training.start import begin, resume
from mt.training.train import choose_best, train, train_and_test
from tests.marks import exhaustive
from tests.training.runs import Deaths, Killed, left

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


def finish(run: Run) -> None:
    with contextlib.closing(run):
        train(run)
        choose_best(run)


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
        options = {
            "max_updates": max_updates, "validate_every": 2, "save_every": 1, "average_checkpoints": averaged,
            "log_every": 1, "plots": 0, "metric": "loss",
        }  # fmt: skip
        return configure({"training": options, "embedding": {"embedding_dim": 32, "dropout": 0.2}})

    began = tmp_path / "began"
    if before:
        finish(begin(config(before), corpus, began))
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
        finish(resume(config(end), corpus, folder))
        assert left(folder) == expected, f"died at call {number} of {total}"
        shutil.rmtree(folder)
    assert unsaved == (0 if before else 5)  # before the first checkpoint has its name


# Between a line of the log, a picture or a text, and the next checkpoint.

WRITERS = [
    *((Log, name) for name in ("scalars", "text", "figure", "layout", "hyperparameters")),
    (checkpoint, "save"),
    (reporting, "write_text"),
    (reporting, "_write_alignment"),
    (training, "write_json"),
]
"""What leaves something in a run's folder."""


def written(folder: Path) -> dict[str, Any]:
    """What is left of a run, with what TensorBoard shows and the test's files."""
    events = EventAccumulator(str(folder / "tensorboard"), size_guidance={"images": 0, "tensors": 0}).Reload()
    tags = events.Tags()
    return left(folder) | {
        "points": {
            tag: [(event.step, event.value) for event in events.Scalars(tag)]
            for tag in tags["scalars"]
            if "second" not in tag
        },
        "pictures": {tag: [event.step for event in events.Images(tag)] for tag in tags["images"]},
        # TensorBoard's own reader purges scalars and pictures, not texts.
        "texts": {tag: {event.step for event in events.Tensors(tag)} for tag in tags["tensors"] if "dev/" in tag},
        "files": {
            str(path.relative_to(folder)): path.read_bytes()
            for path in [*folder.glob("hypotheses/*"), *folder.glob("alignments/*.pharaoh")]
        },
    }


NOTHING = "nothing"
CHECKPOINT = "a checkpoint that is still to be validated"


@pytest.mark.parametrize(
    ("start", "numbers"),
    [
        (NOTHING, range(2, 7, 3)),
        *exhaustive((CHECKPOINT, range(1, 99, 22)), (NOTHING, range(7)), (CHECKPOINT, range(99))),
    ],
)
def test_a_death_between_the_log_and_the_checkpoint(start, numbers, configure, corpus, tmp_path, monkeypatch):
    """numbers: before which call of `WRITERS` the process dies, one after another, until it does not any more."""
    # TensorBoard reads the files of a second by their names, which end in a counter: number 10 before number 9.
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(10**6))
    options = {
        "max_updates": 2, "validate_every": 1, "validate_first": True, "validate_limit": 3, "log_every": 1, "plots": 1,
        "average_checkpoints": 1,
    }  # fmt: skip
    config = configure({"training": options, "search": {"name": "greedy"}})
    began = tmp_path / "began"
    if start == CHECKPOINT:
        cut_short(config, corpus, began)
    train_and_test(opened(config, corpus, copied(began, tmp_path / "straight")))
    expected = written(tmp_path / "straight")
    assert [(line["kind"], line["update"]) for line in expected["lines"]] == [
        ("dev", 0), ("attention", 0), ("train", 1), ("dev", 1), ("attention", 1), ("train", 2), ("dev", 2),
        ("attention", 2),
    ]  # fmt: skip
    assert [step for step, _ in expected["points"]["dev/loss"]] == [0, 1, 2]
    for number in numbers:
        folder = copied(began, tmp_path / str(number))
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
            deaths = Deaths(patch, WRITERS, number)
            train_and_test(opened(config, corpus, folder))
        died = deaths.count > number
        if died:
            train_and_test(opened(config, corpus, folder))
        assert written(folder) == expected, f"died before call {number}"
        if not died:
            assert number > 12
            break


def cut_short(config: Config, corpus: Corpus, folder: Path) -> None:
    """A run that a signal has ended in the validation after its first update."""

    def signalled(*arguments: object, **named: object) -> object:
        if run.progress.update == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return dev_scores(*arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "dev_scores", signalled)
        run = begin(config, corpus, folder)
        with pytest.raises(Interrupted):
            train_and_test(run)
    assert checkpoint.load_progress(folder / "checkpoints/last")["progress"]["validation_due"]
