"""A run while it lasts: its configuration, corpus and folder, its model and optimizer, and what it says."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from mt.config import Config
from mt.data.corpus import Corpus, Training
from mt.decoding.runs import torch_translator
from mt.decoding.translator import Translator
from mt.distributed import ALONE, ProcessGroup
from mt.generators import own_generators
from mt.models.seq2seq import Seq2Seq
from mt.training.checks import chosen_metric
from mt.training.console import Console
from mt.training.log import Log
from mt.training.moving_average import MovingAverage
from mt.training.progress import Progress
from mt.training.sampling import with_sampled_pieces
from mt.training.signals import Signals


@dataclass
class Run:
    """An open run, which no other process can have but those that train with it."""

    config: Config
    corpus: Corpus
    folder: Path
    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    progress: Progress
    lock: contextlib.ExitStack
    processes: ProcessGroup = ALONE
    logged: Mapping[str, int] | None = field(default_factory=dict)
    """The sizes of TensorBoard's files in the checkpoint that it goes on from; see `Log`."""
    moving_average: MovingAverage | None = None
    """The moving average of the weights, where `training.ema_decay` asks for one."""
    signals: Signals = field(default_factory=Signals)
    training: Training = field(init=False)
    """What is trained on: the corpus, in sampled pieces where the configuration asks for them."""
    log: Log | None = field(init=False, default=None)
    """The log of the first process; the others write none."""
    console: Console = field(init=False)

    def __post_init__(self) -> None:
        self.training = with_sampled_pieces(self.corpus.training, self.corpus.tokenizers, self.config.training)
        update = self.progress.update
        validated = update in self.progress.validations
        self.console = Console(quiet=not self.processes.is_first)
        if self.processes.is_first:
            say = self.console.say
            self.log = Log(self.folder, update=update, validated=validated, sizes=self.logged, say=say)

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def translator(self) -> Translator:
        return torch_translator(self.model, self.corpus.tokenizers, self.config, self.processes)

    @property
    def metric(self) -> str:
        """Names the score that chooses the best checkpoint."""
        return chosen_metric(self.config)

    def evaluating(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context in which measuring, drawing or testing leaves training's random generators as they are."""
        return own_generators(self.config.seed, self.progress.update)

    def close(self) -> None:
        """Closes the log, and unlocks the folder."""
        with self.lock:
            if self.log:
                self.log.close()
