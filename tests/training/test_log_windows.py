"""A process that dies between what it logs and its next checkpoint: the run that goes on has nothing twice."""

import json
import os
import shutil
import signal
from collections.abc import Callable
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
from mt.evaluation.score import dev_scores
from mt.training import train as training, validation
from mt.training.log import Log
from mt.training.run import Run
from mt.training.start import begin, resume
from mt.training.train import train_and_test
from tests.marks import exhaustive

pytestmark = pytest.mark.usefixtures("foreground")
WRITERS = [
    *((Log, name) for name in ("scalars", "text", "figure", "layout", "hyperparameters")),
    (checkpoint, "save"),
    (reporting, "write_text"),
    (reporting, "_write_alignment"),
    (training, "write_json"),
]
"""What leaves something in a run's folder."""
VARYING = ("seconds", "tokens_per_second", "peak_memory_mb", "wall")


@pytest.fixture(autouse=True)
def event_files_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorBoard reads the files of a second by their names, which end in a counter: of two runs within one, number 10
    would come before number 9."""
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(10**6))


class Killed(BaseException):
    """Caught by nobody."""


class Deaths:
    """Lets the process die before the call of this number, which is counted from 0, of `WRITERS`."""

    def __init__(self, patch: pytest.MonkeyPatch, number: int) -> None:
        self.count = 0
        for owner, name in WRITERS:
            patch.setattr(owner, name, self._counted(getattr(owner, name), number))

    def _counted(self, call: Callable, number: int) -> Callable:
        def counted(*arguments: object, **named: object) -> object:
            if self.count == number:
                raise Killed
            self.count += 1
            return call(*arguments, **named)

        return counted


@pytest.fixture
def config(configure: Callable[..., Config]) -> Config:
    options = {
        "max_updates": 2, "validate_every": 1, "validate_first": True, "validate_limit": 3, "log_every": 1, "plots": 1,
        "average_checkpoints": 1,
    }  # fmt: skip
    return configure({"training": options, "search": {"name": "greedy"}})


def opened(config: Config, corpus: Corpus, folder: Path) -> Run:
    """As `resume=auto` opens it."""
    return resume(config, corpus, folder) if checkpoint.newest(folder) else begin(config, corpus, folder, in_place=True)


def outcome(folder: Path) -> dict[str, Any]:
    """What is left of a run, without what depends on the time."""
    events = EventAccumulator(str(folder / "tensorboard"), size_guidance={"images": 0, "tensors": 0}).Reload()
    tags = events.Tags()
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return {
        "lines": [timeless(line) for line in lines],
        "points": {
            tag: [(event.step, event.value) for event in events.Scalars(tag)]
            for tag in tags["scalars"]
            if not tag.endswith(VARYING)
        },
        "pictures": {tag: [event.step for event in events.Images(tag)] for tag in tags["images"]},
        "texts": {tag: [event.step for event in events.Tensors(tag)] for tag in tags["tensors"] if "dev/" in tag},
        "results": timeless(json.loads((folder / "results.json").read_text())),
        "files": {
            str(path.relative_to(folder)): path.read_bytes()
            for path in [*folder.glob("hypotheses/*"), *folder.glob("alignments/*.pharaoh")]
        },
    }


def timeless(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if not any(part in name for part in VARYING)}


NOTHING = "nothing"
CHECKPOINT = "a checkpoint that is still to be validated"


@pytest.mark.parametrize(
    ("start", "deaths"),
    [
        (NOTHING, range(2, 7, 3)),
        *exhaustive((CHECKPOINT, range(1, 99, 22)), (NOTHING, range(7)), (CHECKPOINT, range(99))),
    ],
)
def test_a_death_between_the_log_and_the_checkpoint(
    start: str, deaths: range, config: Config, corpus: Corpus, tmp_path: Path
) -> None:
    """deaths: before which call of `WRITERS` the process dies, one after another, until it does not any more."""
    began = tmp_path / "began"
    if start == CHECKPOINT:
        cut_short(config, corpus, began)
    train_and_test(opened(config, corpus, copied(began, tmp_path / "straight")))
    expected = outcome(tmp_path / "straight")
    assert [(line["kind"], line["update"]) for line in expected["lines"]] == [
        ("dev", 0), ("attention", 0), ("train", 1), ("dev", 1), ("attention", 1), ("train", 2), ("dev", 2),
        ("attention", 2),
    ]  # fmt: skip
    assert [step for step, _ in expected["points"]["dev/loss"]] == [0, 1, 2]
    for number in deaths:
        died = True
        folder = copied(began, tmp_path / str(number))
        with pytest.MonkeyPatch.context() as patch:
            Deaths(patch, number)
            try:
                train_and_test(opened(config, corpus, folder))
                died = False
            except Killed:
                pass
        if died:
            train_and_test(opened(config, corpus, folder))
        assert outcome(folder) == expected, f"died before call {number}"
        if not died:
            assert number > 12
            break


def copied(began: Path, folder: Path) -> Path:
    return Path(shutil.copytree(began, folder, symlinks=True)) if began.exists() else folder


def cut_short(config: Config, corpus: Corpus, folder: Path) -> None:
    """A run that a signal has ended in the validation after its first update."""

    def signalled(*arguments: object, **named: object) -> object:
        if run.progress.update == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return dev_scores(*arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "dev_scores", signalled)
        run = begin(config, corpus, folder, in_place=True)
        with pytest.raises(Interrupted):
            train_and_test(run)
    assert checkpoint.load_progress(folder / "checkpoints/last")["progress"]["validation_due"]
