"""A process that dies at any moment of saving, and the run that goes on from what it left."""

import contextlib
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file

from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus
from mt.evaluation.score import Validation
from mt.training import train as training, validation
from mt.training.run import Run
from mt.training.start import begin, resume
from mt.training.train import choose_best, train
from tests.marks import exhaustive

CALLS = ("rename", "replace", "symlink")
"""Of `os`: what gives a file, a folder or a link its name."""


class Killed(BaseException):
    """Caught by nobody."""


class Deaths:
    """Lets the process die at the call of this number. A dead process makes no more calls."""

    def __init__(self, patch: pytest.MonkeyPatch, number: float) -> None:
        self.count = 0
        for name in CALLS:
            patch.setattr(os, name, self._counted(getattr(os, name), number))
        patch.setattr(os, "fsync", lambda descriptor: None)  # slow, and of no account here

    def _counted(self, call: Callable, number: float) -> Callable:
        def counted(*arguments: object, **named: object) -> object:
            self.count += 1
            if self.count > number:
                raise Killed(call)
            return call(*arguments, **named)

        return counted


LOSSES = {2: 5.0, 4: 3.0, 6: 4.0}
AVERAGED = {4: 2.5, 6: 2.0}
"""Of the average that is tried at the end of a run with so many updates: better than all before."""


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(run: Run) -> Validation:
        at_the_end = run.progress.update in run.progress.validations
        return Validation({"loss": (AVERAGED if at_the_end else LOSSES)[run.progress.update]}, [], {})

    for module in (validation, training):
        monkeypatch.setattr(module, "measure", measure)


@pytest.fixture
def config(configure: Callable[..., Config]) -> Callable[[int, int], Config]:
    def limited(max_updates: int, averaged: int) -> Config:
        options = {
            "max_updates": max_updates, "validate_every": 2, "save_every": 1, "average_checkpoints": averaged,
            "log_every": 1, "plots": 0, "metric": "loss",
        }  # fmt: skip
        return configure({"training": options, "embedding": {"embedding_dim": 32, "dropout": 0.2}})

    return limited


def finish(run: Run) -> None:
    try:
        train(run)
        choose_best(run)
    finally:
        run.close()


def outcome(folder: Path) -> tuple[dict, list, dict]:
    """What is left of a run: checkpoints by name and target, the lines of its log, weights and moments to the bit."""
    names = {path.name: os.readlink(path) if path.is_symlink() else "" for path in (folder / "checkpoints").iterdir()}
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    timeless = [{key: value for key, value in line.items() if key != "tokens_per_second"} for line in lines]
    tensors = {
        str(path.relative_to(folder)): {key: tensor.numpy().tobytes() for key, tensor in load_file(path).items()}
        for path in folder.glob("checkpoints/*/*.safetensors")
    }
    return names, timeless, tensors


@pytest.mark.parametrize(
    ("before", "end", "averaged", "best"),
    [
        (4, 6, 2, 0),
        *exhaustive((0, 6, 1, 4), (0, 4, 2, 0)),  # new runs, without an average and with one
    ],
)
def test_a_death_at_any_moment_of_saving_changes_nothing(
    before: int,
    end: int,
    averaged: int,
    best: int,
    config: Callable[[int, int], Config],
    corpus: Corpus,
    tmp_path: Path,
) -> None:
    """before: the updates of an earlier process that ended well, with an average as the best; best: of the updates, 0
    where it is an average."""
    began = tmp_path / "began"
    if before:
        finish(begin(config(before, averaged), corpus, began))
        assert os.readlink(began / "checkpoints/best") == "average"

    def process(folder: Path, deaths: float) -> int:
        with pytest.MonkeyPatch.context() as patch:
            if before:
                shutil.copytree(began, folder, symlinks=True)
            run = (
                resume(config(end, averaged), corpus, folder)
                if before
                else begin(config(end, averaged), corpus, folder)
            )
            counted = Deaths(patch, deaths)
            with contextlib.suppress(Killed):
                train(run)
                choose_best(run)
        run.close()
        return counted.count

    total = process(tmp_path / "straight", math.inf)
    expected = outcome(tmp_path / "straight")
    kept = {f"update-{update:07d}": "" for update in (end - 2, end)} | ({} if best else {"average": ""})
    links = {"best": f"update-{best:07d}" if best else "average", "last": f"update-{end:07d}"}
    assert expected[0] == kept | links
    assert total > 20
    unsaved = 0
    for number in range(total):
        folder = tmp_path / str(number)
        assert process(folder, number) == number + 1
        if checkpoint.newest(folder) is None:
            unsaved += 1
            continue
        finish(resume(config(end, averaged), corpus, folder))
        assert outcome(folder) == expected, f"died at call {number} of {total}"
        shutil.rmtree(folder)
    assert unsaved == (0 if before else 5)  # before the first checkpoint has its name


# A disk without room for a file: one sentence, whoever was writing. A limit on the size of files stands for it.


PROGRAM = """
import json, resource, sys
from pathlib import Path
from data_prep.prepare import prepare
from mt.config import Config
from mt.data.corpus import Corpus
from mt.errors import reported
from mt.common.options import parse
from mt.training.train import train_and_test
from mt.training.start import begin

config = parse(json.loads(sys.argv[1]), Config)
run = begin(config, Corpus.open(prepare(config.dataset, Path(sys.argv[2]))), Path(sys.argv[3]))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
with reported():
    train_and_test(run)
"""


@pytest.mark.parametrize(
    ("limit", "named"),
    [
        (40_000, "run/checkpoints/update-0000002"),  # of the weights
        # 300: of the first records of TensorBoard, which its own thread writes.
        *exhaustive((300, "run"), (0, "run")),
    ],
)
def test_a_full_disk_is_one_sentence(
    limit: int, named: str, configure: Callable[..., Config], corpus: Corpus, corpora: Path, tmp_path: Path
) -> None:
    options = {"max_updates": 400, "validate_every": 200, "save_every": 2, "log_every": 1, "plots": 0}
    config = configure({"training": options, "search": {"name": "greedy"}}).model_dump_json()
    command = [sys.executable, "-c", PROGRAM, config, str(corpora), str(tmp_path / "run"), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"error: {tmp_path / named}: File too large: free disk space; {tmp_path / 'run'} holds no checkpoint yet, so "
        "start again"
    )
