"""Training goes on after an evaluation as if there had been none, for every attention."""

import itertools
import os
import random
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mt import checkpoint
from mt.config import Config
from mt.errors import Interrupted
from mt.evaluation.report import report
from mt.evaluation.score import Validation, dev_scores
from mt.models.attention import ATTENTIONS
from mt.training import train as training, validation
from mt.training.run import Run
from mt.training.start import begin, resume
from mt.training.train import train_and_test
from tests.marks import chosen
from tests.training.runs import finished, left

pytestmark = pytest.mark.usefixtures("foreground")
SIZES = {
    "embedding": {"embedding_dim": 16, "dropout": 0.2},
    "encoder": {"name": "bilstm", "hidden_size": 16},
    "decoder": {"name": "luong", "hidden_size": 16, "readout_size": 16, "dropout": 0.1},
    "search": {"name": "greedy"},
}


@pytest.fixture
def config(configure: Callable[..., Config]) -> Callable[..., Config]:
    def validated(every: int, limit: int | None = None, attention: str = "stochastic") -> Config:
        options = {"max_updates": 4, "validate_every": every, "validate_limit": limit, "log_every": 1, "plots": 1}
        return configure({"training": options, "attention": {"name": attention}, **SIZES})

    return validated


def learnt(run: Run) -> tuple[dict[str, Any], str]:
    """The weights, optimizer and random state of the last checkpoint."""
    tensors = {name: each for name, each in left(run.folder)["tensors"].items() if name.startswith("last/")}
    return tensors, checkpoint.load_progress(run.checkpoints / "last")["random"]


@pytest.mark.parametrize("attention", chosen(ATTENTIONS, "mocha", "stochastic"))
def test_validations_leave_training_as_it_is(attention, config, corpus, tmp_path, monkeypatch):
    """Whether a run is validated, on how many sentences, and whether a signal cuts a validation short."""

    def begun(name: str, every: int, limit: int | None) -> Run:
        return begin(config(every, limit, attention), corpus, tmp_path / name)

    seldom = finished(begun("seldom", 4, None))
    often = finished(begun("often", 2, 3))
    assert learnt(seldom) == learnt(often)
    cut = begun("cut", 2, 3)
    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr(validation, "dev_scores", interrupted_at_its_end)
        train_and_test(cut)
    again = finished(resume(often.config, corpus, cut.folder))
    assert learnt(again) == learnt(often)
    assert left(again.folder) == left(often.folder)


def interrupted_at_its_end(*arguments: object, **named: object) -> Validation:
    scores = dev_scores(*arguments, **named)
    os.kill(os.getpid(), signal.SIGTERM)
    return scores


def draw() -> list:
    """What the generators give next."""
    return [torch.rand(3).tolist(), np.random.rand(3).tolist(), random.random()]


def test_what_an_evaluation_draws_is_its_own(config, corpus, tmp_path, monkeypatch):
    """Also where a part of it draws that does not at present: a metric, a picture, the final test."""
    drawn: list = []

    def drawing(function: Callable) -> Callable:
        def called(*arguments: object, **named: object) -> object:
            drawn.append(draw())
            return function(*arguments, **named)

        return called

    def run(name: str, seed: int = 1) -> Run:
        made = begin(config(2, 3).model_copy(update={"seed": seed}), corpus, tmp_path / name)
        train_and_test(made)
        return made

    quiet = run("quiet")
    with monkeypatch.context() as patch:
        patch.setattr(validation, "dev_scores", drawing(dev_scores))
        patch.setattr(validation, "samples", drawing(validation.samples))
        patch.setattr(training, "report", drawing(report))
        loud = run("loud")
        first, drawn = drawn, []
        run("the same")
        assert first == drawn
        run("another", seed=2)
        assert all(one != other for one, other in itertools.product(first, drawn[len(first) :]))
    assert learnt(quiet) == learnt(loud)
