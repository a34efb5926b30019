"""Training goes on after an evaluation as if there had been none, for every attention."""

from collections.abc import Callable
from typing import Any

import pytest

from mt import checkpoint
from mt.config import Config
from mt.models.attention import ATTENTIONS
from mt.training.run import Run
from mt.training.start import begin
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
def test_validations_leave_training_as_it_is(attention, config, corpus, tmp_path):
    """Whether a run is validated, and on how many sentences."""

    def begun(name: str, every: int, limit: int | None) -> Run:
        return begin(config(every, limit, attention), corpus, tmp_path / name)

    seldom = finished(begun("seldom", 4, None))
    often = finished(begun("often", 2, 3))
    assert learnt(seldom) == learnt(often)
