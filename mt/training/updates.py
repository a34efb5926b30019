"""The training loop as a generator: one optimizer update at a time, resumable between any two."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch

from mt.config import Config
from mt.data.batches import Batch, batch_order, collate
from mt.data.corpus import Split
from mt.device import autocast
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.training.loss import token_loss
from mt.training.optimizer import rate


@dataclass
class Progress:
    """How far a run is: with the weights, the optimizer and the random state, all that resuming needs."""

    update: int = 0
    epoch: int = 1
    position: int = 0
    """Updates done in this epoch."""
    tokens: int = 0
    """Target tokens learnt from."""
    seconds: float = 0.0
    """Spent in updates."""
    validations: list[int] = field(default_factory=list)
    """The updates after which there was a validation."""
    best: float | None = None
    """Of the validation metric."""
    bad_validations: list[int] = field(default_factory=lambda: [0])
    """Lengths of the runs of validations without a new best; the last run is the present one."""


@dataclass(frozen=True)
class Update:
    loss: float
    """Nats per target token, label smoothing included."""
    gradient_norm: float
    """Before clipping."""
    lr: float
    tokens: int
    """Real target tokens."""
    ends_epoch: bool


def updates_per_epoch(split: Split, config: Config) -> int:
    return len(_groups(split, config, epoch=1))


def updates(
    model: Seq2Seq, optimizer: torch.optim.Optimizer, split: Split, config: Config, progress: Progress
) -> Iterator[Update]:
    """Trains, and yields after each update, until the epochs or the updates are used up. Advances `progress`.

    Raises UserError where the loss or the gradient is not a finite number, and leaves the weights of the update before.
    """
    while progress.epoch <= config.training.epochs:
        groups = _groups(split, config, progress.epoch)
        while progress.position < len(groups):
            if progress.update >= (config.training.max_updates or math.inf):
                return
            model.train()
            batches = [collate(split.ids(indices)) for indices in groups[progress.position]]
            ends_epoch = progress.position + 1 == len(groups)
            update = _update(model, optimizer, batches, config, progress, ends_epoch)
            progress.update += 1
            progress.position += 1
            progress.tokens += update.tokens
            yield update
        progress.epoch += 1
        progress.position = 0


def _groups(split: Split, config: Config, epoch: int) -> list[list[np.ndarray]]:
    """The batches of an epoch, those of one update together."""
    source_lengths, target_lengths = split.lengths()
    order = batch_order(
        source_lengths, target_lengths, max_tokens=config.training.batch_tokens, seed=config.seed, epoch=epoch
    )
    size = config.training.accumulate
    return [order[i : i + size] for i in range(0, len(order), size)]


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
    total = 0.0
    for batch in batches:
        batch = batch.to(device)
        with autocast(device, config.precision):
            features, _ = model(batch.source, batch.source_mask, batch.target_in)
            loss = token_loss(
                model.decoder.output,
                features,
                batch.target_out,
                batch.target_mask,
                smoothing=config.training.label_smoothing,
            )
        (loss / tokens).backward()
        total += loss.item() / tokens
    norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), config.training.clip or math.inf))
    if not (math.isfinite(total) and math.isfinite(norm)):
        raise UserError(
            f"the loss is {total} and its gradient's norm {norm} at update {number}: training has diverged; the "
            "checkpoints before it are good; lower optimizer.lr, or raise optimizer.warmup"
        )
    optimizer.step()
    return Update(loss=total, gradient_norm=norm, lr=lr, tokens=tokens, ends_epoch=ends_epoch)
