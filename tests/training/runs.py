"""Runs that tests make: to their end, or to a sudden one, and what they leave."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.split import Examples, Split
from mt.training.batches import epoch_groups
from mt.training.run import Run
from mt.training.train import choose_best, train
from mt.training.transforms import sampled_pieces


def finished(run: Run) -> Run:
    """Trains a run to its end, and closes it."""
    train(run)
    run.close()
    return run


def chosen(run: Run) -> Run:
    """Trains a run to its end, chooses its best weights, and closes it."""
    train(run)
    choose_best(run)
    run.close()
    return run


def batches(config: Config, corpus: Corpus, epoch: int = 1) -> list[Any]:
    """The batches of an epoch, of pieces that are sampled where the configuration says so."""
    groups = epoch_groups(corpus.split("train"), config, epoch, sampled_pieces(config.training, corpus))
    return [batch for group in groups for batch in group]


def logged(folder: Path, kind: str = "") -> list[dict[str, Any]]:
    """The lines of a run's log, of one kind or of all."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if kind in ("", line["kind"])]


def last_update(folder: Path) -> int:
    """Returns the last update in the log of a run that still goes on, 0 before the first."""
    path = folder / "metrics.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return max((json.loads(line)["update"] for line in lines if line.endswith("\n")), default=0)


def timeless(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what two runs of the same have each for itself."""
    return {name: value for name, value in values.items() if "second" not in name and "memory" not in name}


def left(folder: Path) -> dict[str, Any]:
    """Returns what a run leaves but for its time: links, tensors to the bit, how far it came, lines of the log,
    results."""
    checkpoints = folder / "checkpoints"
    results = folder / "results.json"
    progress = json.loads((checkpoints / "last/progress.json").read_text())["progress"]
    return {
        "names": {path.name: os.readlink(path) if path.is_symlink() else "" for path in checkpoints.iterdir()},
        "tensors": {
            f"{path.parent.name}/{path.name}": {
                key: tensor.numpy().tobytes() for key, tensor in load_file(path).items()
            }
            for path in checkpoints.glob("*/*.safetensors")
        },
        "progress": {key: value for key, value in timeless(progress).items() if key not in ("last_speed", "window")},
        "lines": [timeless(line) for line in logged(folder)],
        "results": timeless(json.loads(results.read_text())) if results.exists() else None,
    }


class Killed(BaseException):
    """Caught by nobody."""


class Deaths:
    """Lets the process die before the call of this number, which is counted from 0. A dead process makes no more."""

    def __init__(self, patch: pytest.MonkeyPatch, calls: Iterable[tuple[Any, str]], number: float) -> None:
        """calls: each function that is counted, by its owner and name."""
        self.count = 0
        for owner, name in calls:
            patch.setattr(owner, name, self._counted(getattr(owner, name), number))

    def _counted(self, call: Callable, number: float) -> Callable:
        def counted(*arguments: object, **named: object) -> object:
            self.count += 1
            if self.count > number:
                raise Killed(call)
            return call(*arguments, **named)

        return counted


class Seen:
    """A training set that counts which examples are fetched."""

    def __init__(self, split: Split) -> None:
        self.split = split
        self.source = split.source
        self.counts = Counter[int]()

    def parts(self) -> list["Seen"]:
        return [self]

    def of_epoch(self, seed: int, epoch: int) -> "Seen":
        return self

    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        return self.split.lengths()

    def read(self, indices: np.ndarray) -> Examples:
        self.counts.update(indices.tolist())
        return self.split.read(indices)
