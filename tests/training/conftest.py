"""Fixtures of the tests of training: new runs, with scores that are made up, and models that are trained alone."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from mt.config import Config
from mt.data.corpus import Corpus
from mt.evaluation.score import Validation
from mt.models.seq2seq import Seq2Seq
from mt.training import validation
from mt.training.loop import Progress, Update, updates
from mt.training.optimizer import build_optimizer
from mt.training.run import Run
from mt.training.start import begin
from tests.training.runs import Seen


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


class Trainer:
    """A fresh model on the tiny corpus. Each iterator goes on with its updates."""

    def __init__(self, config: Config, corpus: Corpus) -> None:
        self.config = config
        torch.manual_seed(0)
        self.model = Seq2Seq(config, *corpus.tokenizers.sizes)
        self.optimizer = build_optimizer(config.optimizer, self.model)
        self.split = Seen(corpus.split("train"))
        self.progress = Progress()

    def __iter__(self) -> Iterator[Update]:
        return updates(self.model, self.optimizer, self.split, self.config, self.progress)

    def weights(self) -> dict[str, torch.Tensor]:
        return {name: tensor.clone() for name, tensor in self.model.state_dict().items()}


@pytest.fixture
def trainer(configure: Callable[..., Config], corpus: Corpus) -> Callable[..., Trainer]:
    """trainer(training, ...): by default with plain gradient descent."""

    def made(training: Mapping[str, Any] = {}, **changes: Any) -> Trainer:
        optimizer = {"name": "sgd", "lr": 0.5}
        return Trainer(configure({"training": training, "optimizer": optimizer, **changes}), corpus)

    return made
