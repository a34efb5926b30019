"""The training loop as a generator: one optimizer update at a time, resumable between any two."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from mt.config import Config
from mt.data.corpus import Training
from mt.device import give_back_memory
from mt.distributed import ALONE, ProcessGroup, synchronized
from mt.models.seq2seq import Seq2Seq
from mt.training.batches import epoch_groups, prefetched
from mt.training.freezing import train_mode
from mt.training.optimizer import learning_rate, set_learning_rate
from mt.training.progress import Progress
from mt.training.scaling import first_loss_scale, scale_before_backward, unscale_gradients
from mt.training.update import BatchLoss, Update

GIVE_BACK_EVERY = 20
"""Updates, after which what their tensors have left free goes back to the system: for a moment it is a third of all."""


def updates(
    model: Seq2Seq,
    optimizer: torch.optim.Optimizer,
    training: Training,
    config: Config,
    progress: Progress,
    processes: ProcessGroup = ALONE,
    objective: Callable[[Seq2Seq, Config], nn.Module] = BatchLoss,
    total: int | None = None,
) -> Iterator[Update]:
    """Trains, and yields after each update, until the epochs or the updates are used up. Advances `progress`.

    An update does not depend on how many processes share its batches: its gradient is that of the sum of the losses
    over all of them, divided once by all their tokens (or sentences). objective: makes what computes the loss of a
    batch. total: of updates, where known. Raises UserError before an update whose loss or gradient is not finite.
    """
    options = config.training
    scale = progress.loss_scale = progress.loss_scale or first_loss_scale(config.precision)
    batch_loss = processes.data_parallel(objective(model, config))
    while progress.epoch <= options.epochs:
        groups = itertools.islice(epoch_groups(training, config, progress.epoch), progress.position, None)
        for group in prefetched(groups, processes):
            if progress.update >= (options.max_updates or math.inf):
                return
            train_mode(model, options.freeze)
            optimizer.zero_grad()
            divisor = group.tokens if options.normalization == "token" else group.sentences
            sums = []
            for batch, seed, is_last in group.batches(config, progress.update + 1):
                with synchronized(batch_loss, when=is_last):  # all-reduce of gradients, in the last backward pass
                    loss, batch_sums = batch_loss(batch, seed)
                    (loss / (divisor / scale_before_backward(scale, processes))).backward()
                sums.append(batch_sums)
            unscale_gradients(model, scale, processes)
            losses = _mean_losses(sums, group.tokens, processes)
            norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), options.max_grad_norm or math.inf))
            lr = learning_rate(config.optimizer, progress.update + 1, progress.epoch, progress.bad_validations, total)
            update = Update(*losses, norm, lr, group.tokens, group.ends_epoch)
            update.require_finite(progress.update + 1, scale)
            if scale is not None:
                scale.adjust(finite=not update.left_out)
            if not update.left_out:
                set_learning_rate(optimizer, lr)
                optimizer.step()
                model.after_update(update.loss)
            progress.advance(update)
            if progress.update % GIVE_BACK_EVERY == 0:
                give_back_memory()
            yield update
        progress.next_epoch()


def _mean_losses(sums: Sequence[Tensor], tokens: int, processes: ProcessGroup) -> tuple[float, float, float]:
    """Returns the means over the target tokens of all processes, of what `BatchLoss` has summed in each batch."""
    loss, smoothed_loss, auxiliary_loss = processes.all_reduce(torch.stack([*sums]).cpu().double().sum(0)) / tokens
    return loss.item(), smoothed_loss.item(), auxiliary_loss.item()
