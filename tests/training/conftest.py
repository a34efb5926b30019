"""Fixtures of the tests of training: new runs, with scores that are made up."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mt.config import Config
from mt.data.corpus import Corpus
from mt.evaluation.score import Validation
from mt.training import validation
from mt.training.run import Run
from mt.training.start import begin


@pytest.fixture
def start(configure: Callable[..., Config], corpus: Corpus, tmp_path: Path) -> Callable[..., Run]:
    def started(changes: dict | None = None) -> Run:
        return begin(configure({"search": {"name": "greedy"}} | (changes or {})), corpus, tmp_path / "run")

    return started


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replaces what validations measure by a list of scores, in turn, of statistics of the attention, and of losses."""

    def replace(
        values: list[float],
        name: str = "bleu",
        stats: Mapping[str, float] = {},
        others: Mapping[str, list[float]] = {},
    ) -> None:
        columns = {"loss": [9.0] * len(values), **others, name: values}
        turn = iter([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])
        monkeypatch.setattr(validation, "dev_scores", lambda *_, **__: Validation(next(turn), [], dict(stats)))

    return replace
