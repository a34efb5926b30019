"""Fixtures of the tests of training: new runs, with scores that are made up, and models that are trained alone."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from data_prep.prepare import open_corpus
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

    def replace(bleu: list[float], stats: Mapping[str, float] = {}, others: Mapping[str, list[float]] = {}) -> None:
        columns = {"loss": [9.0] * len(bleu), **others, "bleu": bleu}
        turn = iter([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])
        monkeypatch.setattr(validation, "dev_scores", lambda *_, **__: Validation(next(turn), [], dict(stats)))

    return replace


@pytest.fixture(scope="session")
def word_for_word(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Links of the training pairs, whose languages are word for word."""
    path = tmp_path_factory.mktemp("links") / "train.pharaoh"
    lines = (texts / "train.en").read_text().splitlines()
    path.write_text("".join(" ".join(f"{i}-{i}" for i in range(len(line.split()))) + "\n" for line in lines))
    return path


@pytest.fixture(scope="session")
def prepared(configure: Callable[..., Config], corpora: Path, texts: Path) -> Callable[..., tuple[Config, Corpus]]:
    """prepared(kind, dataset, training, ...): a configuration with a vocabulary of this kind, and its corpus."""

    def made(kind: str = "word", dataset: Any = (), training: Any = (), **changes: Any) -> tuple[Config, Corpus]:
        tokenizer = {"model_type": kind, "vocab_size": 100 if kind == "word" else 70}
        whole = {"name": kind, "source": "en", "target": "de", "folder": str(texts), "tokenizer": tokenizer}
        options = {"average_checkpoints": 1, "plots": 0} | dict(training)
        changes = {"search": {"name": "greedy"}, **changes}
        config = configure({"dataset": whole | dict(dataset), "training": options, **changes})
        return config, open_corpus(config.dataset, corpora)

    return made


class Trainer:
    """A fresh model on the tiny corpus. Each iterator goes on with its updates."""

    def __init__(self, config: Config, corpus: Corpus) -> None:
        self.config = config
        torch.manual_seed(config.seed)
        self.model = Seq2Seq(config, *corpus.tokenizers.sizes).to(config.device)
        self.optimizer = build_optimizer(config.optimizer, self.model)
        self.split = Seen(corpus.split("train"))
        self.progress = Progress()

    def updates(self, split: Any, *more: Any) -> Iterator[Update]:
        return updates(self.model, self.optimizer, split, self.config, self.progress, *more)

    def __iter__(self) -> Iterator[Update]:
        return self.updates(self.split)

    def weights(self) -> dict[str, torch.Tensor]:
        return {name: tensor.clone() for name, tensor in self.model.state_dict().items()}


@pytest.fixture
def trainer(configure: Callable[..., Config], corpus: Corpus) -> Callable[..., Trainer]:
    """trainer(training, ...): by default with plain gradient descent."""

    def made(training: Mapping[str, Any] = {}, **changes: Any) -> Trainer:
        optimizer = {"name": "sgd", "lr": 0.5}
        return Trainer(configure({"training": training, "optimizer": optimizer, **changes}), corpus)

    return made
