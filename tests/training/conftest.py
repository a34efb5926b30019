"""Fixtures of the tests of training: new runs, with scores that are made up."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import mt.training.run as training
from mt.config import Config
from mt.data.corpus import Corpus
from mt.evaluation.score import Validation
from mt.training.state import Run, begin


@pytest.fixture
def start(configure: Callable[..., Config], corpus: Corpus, tmp_path: Path) -> Callable[..., Run]:
    def started(changes: dict | None = None) -> Run:
        return begin(configure({"search": {"name": "greedy"}} | (changes or {})), corpus, tmp_path / "run")

    return started


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replaces what validations measure by a list of BLEU scores, in turn, and by a health of the attention."""

    def replace(values: list[float], name: str = "bleu", health: Mapping[str, float] = {}) -> None:
        turn = iter(values)
        monkeypatch.setattr(training, "dev_scores", lambda *_: Validation({name: next(turn)}, [], health))

    return replace
