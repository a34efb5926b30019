"""The checks that configuration, corpus and model fit together (`require_...`), and a run while it lasts (`Run`)."""

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

import torch

from mt.common.options import flat
from mt.config import Config
from mt.config.optimizer import DecayConfig
from mt.data.corpus import SPLITS, Corpus
from mt.data.split import Split
from mt.decoding.modes import require_compatible, require_extending, require_wait_k
from mt.decoding.torch_network import torch_translator
from mt.decoding.translator import Translator
from mt.distributed import ProcessGroup, code_digest
from mt.errors import UserError, nearest
from mt.evaluation.scoring import metrics_of
from mt.metrics import METRICS, score_names
from mt.models.seq2seq import Seq2Seq
from mt.training.batches import batches_per_update, own_generators
from mt.training.log import Console, Log
from mt.training.loop import Progress
from mt.training.optimizer import MovingAverage
from mt.training.signals import Signals
from mt.training.transforms import Transform, require_sampling, sampled_pieces

# The checks.


def chosen_metric(config: Config) -> str:
    """Returns the metric that chooses the best checkpoint: `training.metric`, else the first one of the dataset."""
    return config.training.metric or METRICS[config.dataset.metrics[0]].main()


def require_fit(config: Config, corpus: Corpus, model: Seq2Seq) -> None:
    """Raises UserError where search, prefix mask, metrics or the lengths of the corpus do not suit the model."""
    # Decoding, then validation, then the data.
    require_extending(config.search, model)
    require_compatible(config.search, model)
    if config.training.wait_k is not None:
        require_wait_k(model, "training.wait_k")
    metrics_of(config.dataset)
    require_measured(config, model)
    require_sampling(config.training, corpus, model)
    if model.max_source_length is not None:
        require_source_lengths(corpus, model, model.max_source_length)
    # A schedule that would raise the rate.
    schedule = config.optimizer.schedule
    lr = config.optimizer.lr
    if isinstance(schedule, DecayConfig) and schedule.floor > lr:
        raise UserError(
            f"optimizer.schedule.floor={schedule.floor:g} is above optimizer.lr={lr:g}, so that the rate would never "
            "fall: lower the floor, or raise optimizer.lr"
        )


def require_work(config: Config, training: Split, processes: ProcessGroup) -> None:
    """Raises UserError where a process would have no batch to compute."""
    # Of each update, then of the whole epoch.
    accumulation = config.training.gradient_accumulation
    batch_tokens = config.training.batch_tokens
    if processes.size > accumulation:
        raise UserError(
            f"{processes.size} processes share the batches of an update, which are training.gradient_accumulation="
            f"{accumulation}: set it to {processes.size} or a multiple (of training.batch_tokens={batch_tokens} each), "
            f"or start {accumulation}"
        )
    count = sum(batches_per_update(training, config))
    if count < processes.size:
        raise UserError(
            f"{processes.size} processes share the batches of an epoch, which are {count}: lower "
            f"training.batch_tokens={batch_tokens}, or start fewer processes"
        )


def require_alike(config: Config, corpus: Corpus, processes: ProcessGroup) -> None:
    """Raises UserError where processes that train together do not have the same configuration, corpus and code."""
    if processes.size == 1:
        return
    facts = {"the code of mt": code_digest(), "the corpus": corpus.meta["fingerprint"]}
    processes.require_alike(facts | dict(flat(config.model_dump(mode="json"))))


def require_measured(config: Config, model: Seq2Seq) -> None:
    """Raises UserError where validation does not measure the metric that chooses the best checkpoint."""
    # Where attention can be hard, each score is measured in both modes.
    names = ["loss", *score_names(config.dataset.metrics)]
    if model.supports_hard:
        names += [f"{name}_{mode}" for name in names for mode in ("soft", "hard")]
    chosen = chosen_metric(config)
    if chosen not in names:
        raise UserError(f"training.metric={chosen} is not measured: {nearest(chosen, names)}")


def require_source_lengths(corpus: Corpus, model: Seq2Seq, longest: int) -> None:
    """Raises UserError where a source of the corpus has more positions than the model is defined for."""
    for name in SPLITS:
        split = corpus.split(name)
        lengths = model.frontend.output_lengths(torch.from_numpy(split.lengths()[0])).numpy()
        if len(lengths) and lengths.max() > longest:
            unit = "tokens" if split.source.written else "positions"
            raise UserError(
                f"source {int(lengths.argmax()) + 1} of {name} has {lengths.max()} {unit}, and this model reads at "
                f"most {longest}: raise max_source_length (of attention, energy or encoder), or lower "
                "dataset.cleaning.max_length"
            )


# The run: its configuration, corpus and folder, its model and optimizer, its log and console.


@dataclass
class Run:
    """An open run, locked against processes other than those that train with it."""

    config: Config
    corpus: Corpus
    folder: Path
    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    moving_average: MovingAverage | None
    """The moving average of the weights, where `training.ema_decay` asks for one."""
    progress: Progress
    lock: contextlib.ExitStack
    processes: ProcessGroup
    initialisation: str | None
    """See `mt.checkpoint.About`."""
    signals: Signals = field(default_factory=Signals)
    transform: Transform | None = field(init=False)
    """Changes training examples before they are padded to batches."""
    log: Log | None = field(init=False, default=None)
    """The log of the first process; the others write none."""
    console: Console = field(init=False)

    def __post_init__(self) -> None:
        # What changes examples, then the records, which go on after the present update.
        self.transform = sampled_pieces(self.config.training, self.corpus)
        update = self.progress.update
        validated = update in self.progress.validations
        self.console = Console(quiet=not self.processes.is_first)
        if self.processes.is_first:
            self.log = Log(self.folder, update=update, validated=validated)

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
