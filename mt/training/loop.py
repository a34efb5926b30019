"""The training loop as a generator: one optimizer update at a time, resumable between any two."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated

import numpy as np
import pydantic.dataclasses
import torch
from pydantic import ConfigDict, Field

from mt.config import Config
from mt.data.batches import Batch, batch_order, collate
from mt.data.corpus import Split, Training
from mt.device import autocast
from mt.errors import UserError
from mt.metrics.score import without_mode
from mt.models.seq2seq import Seq2Seq
from mt.optim.optimizer import rate
from mt.parsing import MAX_COUNT
from mt.training.freezing import train_mode

Fetch = Callable[[], Batch]
"""Reads a batch."""


Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Score = Annotated[float, Field(allow_inf_nan=True)]


@dataclass(frozen=True)
class Update:
    loss: float
    """Nats per target token, without label smoothing: of a kind with the loss on dev."""
    smoothed_loss: float
    """Nats per target token, label smoothing included: what is minimised, with `auxiliary_loss`."""
    auxiliary_loss: float
    """Nats per target token that the attention adds to it."""
    gradient_norm: float
    """Of the mean loss per token or per sentence, as `training.normalization` says; before clipping."""
    lr: float
    tokens: int
    """Real target tokens, EOS included."""
    ends_epoch: bool


# Read from checkpoints, as is `Progress`, so that what they hold is checked. Strict would take no mapping for it.
@pydantic.dataclasses.dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Window:
    """Sums over the updates since the last line of the log."""

    updates: Count = 0
    tokens: Count = 0
    loss: float = 0.0
    """Of all tokens, in nats, as the next two."""
    smoothed_loss: float = 0.0
    auxiliary_loss: float = 0.0
    gradient_norm: float = 0.0
    """Of all updates."""
    seconds: Annotated[float, Field(ge=0)] = 0.0

    def add(self, update: Update, seconds: float) -> None:
        self.updates += 1
        self.tokens += update.tokens
        self.loss += update.loss * update.tokens
        self.smoothed_loss += update.smoothed_loss * update.tokens
        self.auxiliary_loss += update.auxiliary_loss * update.tokens
        self.gradient_norm += update.gradient_norm
        self.seconds += seconds

    def means(self) -> dict[str, float]:
        """Of losses over tokens, of norms over updates, of which there is at least one; and the speed."""
        return {
            "loss": self.loss / self.tokens,
            "smoothed_loss": self.smoothed_loss / self.tokens,
            "auxiliary_loss": self.auxiliary_loss / self.tokens,
            "gradient_norm": self.gradient_norm / self.updates,
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
    validation_due: bool = False
    """After the last update, when the run stopped before it was validated."""
    validations: list[Count] = field(default_factory=list)
    """The updates after which there was a validation."""
    best: dict[str, Score] | None = None
    """All scores of the best validation, or of the average of weights where that is better."""
    bad_validations: Annotated[list[Count], Field(min_length=1)] = field(default_factory=lambda: [0])
    """Lengths of the runs of validations without a new best; the last run is the present one."""

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


def updates_per_epoch(training: Training, config: Config) -> int | None:
    """None where only the end of an epoch can tell."""
    if not isinstance(training.parts(), Sized):
        return None
    return sum(1 for _ in _groups(training, config, epoch=1))


def total_updates(training: Training, config: Config) -> int | None:
    """Of a whole run; None where only its end can tell."""
    per_epoch, limit = updates_per_epoch(training, config), config.training.max_updates
    if per_epoch is None:
        return limit
    whole = config.training.epochs * per_epoch
    return min(whole, limit or whole)


def updates(
    model: Seq2Seq, optimizer: torch.optim.Optimizer, training: Training, config: Config, progress: Progress
) -> Iterator[Update]:
    """Trains, and yields after each update, until the epochs or the updates are used up. Advances `progress`.

    Raises UserError where the loss or the gradient is not a finite number, and leaves the weights of the update before.
    """
    while progress.epoch <= config.training.epochs:
        groups = itertools.islice(_groups(training, config, progress.epoch), progress.position, None)
        group = next(groups, None)
        while group is not None:
            if progress.update >= (config.training.max_updates or math.inf):
                return
            train_mode(model, config.training.freeze)
            following = next(groups, None)
            batches = [fetch() for fetch in group]
            update = _update(model, optimizer, batches, config, progress, ends_epoch=following is None)
            progress.update += 1
            progress.position += 1
            progress.tokens += update.tokens
            yield update
            group = following
        progress.epoch += 1
        progress.position = 0


def _groups(training: Training, config: Config, epoch: int) -> Iterator[list[Fetch]]:
    """The batches of an epoch, those of one update together; read when they are fetched, so skipping is cheap."""
    fetches: Iterator[Fetch] = (
        functools.partial(_batch, part, indices)
        for number, part in enumerate(training.parts())
        for indices in batch_order(
            *part.lengths(),
            max_tokens=config.training.batch_tokens,
            max_sentences=config.training.batch_sentences,
            seed=config.seed,
            epoch=epoch,
            part=number,
        )
    )
    while group := list(itertools.islice(fetches, config.training.gradient_accumulation)):
        yield group


def _batch(part: Split, indices: np.ndarray) -> Batch:
    return collate(part.ids(indices), part.source, part.transcripts(indices))


def _update(
    model: Seq2Seq,
    optimizer: torch.optim.Optimizer,
    batches: list[Batch],
    config: Config,
    progress: Progress,
    ends_epoch: bool,
) -> Update:
    number, device = progress.update + 1, next(model.parameters()).device
    lr = rate(config.optimizer, update=number, epoch=progress.epoch, bad_validations=progress.bad_validations)
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.zero_grad()
    tokens = sum(int(batch.target_mask.sum()) for batch in batches)
    share = tokens if config.training.normalization == "token" else sum(len(batch.source) for batch in batches)
    sums = []
    for batch in batches:
        batch = batch.to(device)
        with autocast(device, config.precision):
            loss = model(batch, label_smoothing=config.training.label_smoothing, wait_k=_drawn(config.training.wait_k))
        sums.append(torch.stack([loss.token_losses.sum(), loss.sum.detach(), loss.auxiliary.detach()]))
        ((loss.sum + loss.auxiliary) / share).backward()
    plain, total, auxiliary = (torch.stack(sums).cpu().double().sum(0) / tokens).tolist()
    norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), config.training.max_grad_norm or math.inf))
    if not (math.isfinite(total + auxiliary) and math.isfinite(norm)):
        raise UserError(
            f"the loss is {total + auxiliary} and its gradient's norm {norm} at update {number}: training has "
            "diverged; the checkpoints before it are good; lower optimizer.lr, or raise optimizer.warmup"
        )
    optimizer.step()
    return Update(plain, total, auxiliary, gradient_norm=norm, lr=lr, tokens=tokens, ends_epoch=ends_epoch)


def _drawn(choices: tuple[int, ...] | None) -> int | None:
    """One of them at random, by the generator whose state checkpoints keep; None where there are none."""
    return None if choices is None else choices[int(torch.randint(len(choices), ()))]
