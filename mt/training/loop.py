"""The training loop as a generator: one optimizer update at a time, resumable between any two."""

import itertools
import math
from collections.abc import Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from itertools import pairwise
from typing import Annotated

import pydantic.dataclasses
import torch
from pydantic import ConfigDict, Field

from mt.config import Config
from mt.data.batches import batch_order
from mt.data.corpus import Training
from mt.device import give_back_memory
from mt.distributed import ALONE, ProcessGroup
from mt.metrics.score import without_mode
from mt.models.seq2seq import Seq2Seq
from mt.optim.optimizer import rate
from mt.parsing import MAX_COUNT
from mt.training.freezing import train_mode
from mt.training.scaling import LossScale
from mt.training.update import Learner, Objective, Unread, Update

GIVE_BACK_EVERY = 20
"""Updates, after which what their tensors have left free goes back to the system: for a moment it is a third of all."""

Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Score = Annotated[float, Field(allow_inf_nan=True)]


# Read from checkpoints, as is `Progress`, so that what they hold is checked. Strict would take no mapping for it.
@pydantic.dataclasses.dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Window:
    """Sums over the updates since the last line of the log."""

    updates: Count = 0
    """That were not left out."""
    tokens: Count = 0
    loss: float = 0.0
    """Of all tokens, in nats, as the next two."""
    smoothed_loss: float = 0.0
    auxiliary_loss: float = 0.0
    gradient_norm: float = 0.0
    """Of those updates."""
    seconds: Annotated[float, Field(ge=0)] = 0.0

    def add(self, update: Update, seconds: float) -> None:
        self.tokens += update.tokens
        self.loss += update.loss * update.tokens
        self.smoothed_loss += update.smoothed_loss * update.tokens
        self.auxiliary_loss += update.auxiliary_loss * update.tokens
        if not update.left_out:
            self.updates += 1
            self.gradient_norm += update.gradient_norm
        self.seconds += seconds

    def means(self) -> dict[str, float]:
        """Of losses over tokens, of which there are some, of norms over updates; and the speed."""
        return {
            "loss": self.loss / self.tokens,
            "smoothed_loss": self.smoothed_loss / self.tokens,
            "auxiliary_loss": self.auxiliary_loss / self.tokens,
            "gradient_norm": self.gradient_norm / max(self.updates, 1),
            "tokens_per_second": self.tokens / max(self.seconds, 1e-9),
        }


@pydantic.dataclasses.dataclass(config=ConfigDict(strict=True, extra="forbid", allow_inf_nan=False))
class Progress:
    """How far a run is: with the weights, the optimizer and the random state, all that resuming needs."""

    update: Count = 0
    epoch: Annotated[int, Field(ge=1, le=MAX_COUNT)] = 1
    position: Count = 0
    """Updates done in this epoch."""
    tokens: Count = 0
    """Target tokens learnt from."""
    seconds: Annotated[float, Field(ge=0)] = 0.0
    """Spent in updates."""
    window: Window = field(default_factory=Window)
    last_speed: Annotated[float, Field(ge=0)] = 0.0
    """Target tokens a second between the last two lines of the log."""
    validation_due: bool = False
    """After the last update, when the run stopped before it was validated."""
    validations: list[Count] = field(default_factory=list)
    """The updates after which there was a validation."""
    best: dict[str, Score] | None = None
    """All scores of the best validation, or of the average of weights where that is better."""
    bad_validations: Annotated[list[Count], Field(min_length=1)] = field(default_factory=lambda: [0])
    """Lengths of the runs of validations without a new best; the last run is the present one."""
    loss_scale: LossScale | None = None
    """Of a run in float16, from its first update on."""

    @property
    def best_update(self) -> int | None:
        """The update whose validation was the best so far."""
        return self.validations[-1 - self.bad_validations[-1]] if self.validations else None

    def fault(self, metric: str) -> str | None:
        """What cannot be, where the parts contradict one another. metric: what chooses the best validation."""
        ordered = all(earlier < later for earlier, later in pairwise([-1, *self.validations, self.update + 1]))
        if not ordered or self.position > self.update:
            return "updates out of order"
        if (self.best is None) != (not self.validations) or self.bad_validations[-1] >= max(1, len(self.validations)):
            return "validations that do not add up"
        if self.best is not None and not {metric, "loss" + metric.removeprefix(without_mode(metric))} <= set(self.best):
            return f"a best validation without {metric} or loss"
        return None


def batches_per_update(training: Training, config: Config) -> list[int] | None:
    """Of each update of the first epoch; None where only the end of an epoch can tell."""
    if not isinstance(training.parts(), Sized):
        return None
    return [len(group) for group in _groups(training, config, epoch=1)]


def updates_per_epoch(training: Training, config: Config) -> int | None:
    """None where only the end of an epoch can tell."""
    counts = batches_per_update(training, config)
    return None if counts is None else len(counts)


def total_updates(training: Training, config: Config) -> int | None:
    """Of a whole run; None where only its end can tell."""
    per_epoch, limit = updates_per_epoch(training, config), config.training.max_updates
    if per_epoch is None:
        return limit
    whole = config.training.epochs * per_epoch
    return min(whole, limit or whole)


def updates(
    model: Seq2Seq,
    optimizer: torch.optim.Optimizer,
    training: Training,
    config: Config,
    progress: Progress,
    processes: ProcessGroup = ALONE,
) -> Iterator[Update]:
    """Trains, and yields after each update, until the epochs or the updates are used up. Advances `progress`.

    The batches of the next update are read and collated while the present one is computed.

    processes: train together, each on a share of the batches of every update. Raises UserError where
    the loss or the gradient is not a finite number, and leaves the weights of the update before.
    """
    if config.precision == "fp16" and progress.loss_scale is None:
        progress.loss_scale = LossScale()
    with ThreadPoolExecutor(1, "reading-ahead") as reader:
        learner = Learner(Objective(model, config), optimizer, processes, reader, progress.loss_scale)
        while progress.epoch <= config.training.epochs:
            groups = itertools.islice(_groups(training, config, progress.epoch), progress.position, None)
            group = next(groups, None)
            while group is not None:
                if progress.update >= (config.training.max_updates or math.inf):
                    return
                train_mode(model, config.training.freeze)
                following = next(groups, None)
                lr = rate(
                    config.optimizer,
                    update=progress.update + 1,
                    epoch=progress.epoch,
                    bad_validations=progress.bad_validations,
                )
                update = learner.update(group, following, progress.update + 1, lr)
                progress.update += 1
                progress.position += 1
                progress.tokens += update.tokens
                if progress.update % GIVE_BACK_EVERY == 0:
                    give_back_memory()
                yield update
                group = following
            progress.epoch += 1
            progress.position = 0


def _groups(training: Training, config: Config, epoch: int) -> Iterator[list[Unread]]:
    """The batches of an epoch, those of one update together; nothing is read of them yet, so skipping is cheap."""
    options = config.training
    for number, part in enumerate(part.of_epoch(config.seed, epoch) for part in training.parts()):
        lengths = part.lengths()
        order = batch_order(
            *lengths,
            max_tokens=options.batch_tokens,
            max_sentences=options.batch_sentences,
            seed=config.seed,
            epoch=epoch,
            part=number,
            together=options.gradient_accumulation,
        )
        batches = (Unread(part, indices, int(lengths[1][indices].sum())) for indices in order)
        while group := list(itertools.islice(batches, options.gradient_accumulation)):
            yield group
