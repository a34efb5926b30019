"""The training loop as a generator: one optimizer update at a time, resumable between any two.

In order: the scale of float16 losses, the loss of a batch and the report of an update, the progress that checkpoints
keep, and the loop `updates`."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Annotated

import pydantic.dataclasses
import torch
from pydantic import ConfigDict, Field
from torch import Tensor, nn

from mt.common.options import MAX_COUNT, Count
from mt.config import Config
from mt.data.batches import Batch
from mt.data.corpus import Training
from mt.device import autocast, give_back_memory
from mt.distributed import ALONE, ProcessGroup, synchronized
from mt.errors import UserError
from mt.metrics.base import without_mode
from mt.models.seq2seq import Seq2Seq
from mt.training.batches import SeededBatch, epoch_groups, prefetched
from mt.training.optimizer import learning_rate, set_learning_rate, train_mode
from mt.training.recorded import RecordedPasses

# What a loss in float16 is multiplied by, so that its gradients are numbers that float16 has.

PATIENCE = 2000
"""Updates in a row with a finite gradient, after which the factor is doubled."""
LEAST = 2.0**-10
MOST = 2.0**60
"""Bounds of the factor. A gradient that float16 cannot hold even at the lower one has diverged."""


# Read from checkpoints, as a part of `Progress`.
@pydantic.dataclasses.dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class LossScale:
    """Dynamic loss scaling (Micikevicius et al. 2018, section 3.2), with the numbers of torch.amp.GradScaler, whose
    state would be on the device, and which would ask each gradient whether it is finite: here its norm is known."""

    factor: Annotated[float, Field(ge=LEAST, le=MOST)] = 65536.0
    """What the loss of the next update is multiplied by."""
    good: Annotated[int, Field(ge=0, lt=PATIENCE)] = 0
    """Updates with a finite gradient since the factor last changed."""
    left_out: Annotated[int, Field(ge=0, le=MAX_COUNT)] = 0
    """Updates whose gradient was not finite and which were left out, in the whole run."""

    @property
    def can_fall(self) -> bool:
        """Whether the factor can be halved and stay within its bounds."""
        return self.factor / 2 >= LEAST

    def adjust(self, *, finite: bool) -> None:
        """Chooses the factor of the next update. finite: whether the gradient of the present one was."""
        if not finite:
            self.factor /= 2
            self.good = 0
            self.left_out += 1
            return
        self.good += 1
        if self.good == PATIENCE:
            self.factor = min(2 * self.factor, MOST)
            self.good = 0

    def notice(self, update: int) -> str:
        """Returns what to say of the first update that was left out."""
        return (
            f"update {update} was left out: float16 had no numbers for its gradient, and the loss is now multiplied by "
            f"{self.factor:g}; some such updates are usual, most of them at the beginning (this is said once)"
        )


def first_loss_scale(precision: str) -> LossScale | None:
    """Returns the scale that a run begins with; None where the precision is not float16."""
    return LossScale() if precision == "fp16" else None


def scale_before_backward(scale: LossScale | None, processes: ProcessGroup) -> float:
    """Returns what to multiply a loss by, so that after `unscale_gradients` the gradient is the sum over all processes,
    where DistributedDataParallel leaves the mean.

    In float16 the number of processes counts only afterwards, so that what its range holds does not depend on it.
    """
    return processes.size if scale is None else scale.factor


def unscale_gradients(model: nn.Module, scale: LossScale | None, processes: ProcessGroup) -> None:
    """Takes the scale of a float16 loss out of the gradients, after the backward passes of an update."""
    if scale is not None:
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        torch._foreach_mul_(gradients, processes.size / scale.factor)


# The loss of a batch, and the report of an update.


@dataclass(frozen=True)
class Update:
    """One optimizer update. Its losses are nats per target token."""

    loss: float
    """Cross entropy without label smoothing, which can be compared with the loss on dev."""
    smoothed_loss: float
    """Cross entropy with label smoothing, or the risk of `MinimumRisk`; its sum with `auxiliary_loss` is minimised."""
    auxiliary_loss: float
    """What the attention adds, its links among it."""
    links_loss: float
    """Cross entropy of the links that guide the attention, without its weight; 0 without links."""
    gradient_norm: float
    """Norm of the gradient before clipping, of the mean loss per token or per sentence (`training.normalization`). It
    is not finite where the update was left out."""
    lr: float
    tokens: int
    """Real target tokens, EOS included."""
    ends_epoch: bool

    @property
    def left_out(self) -> bool:
        """Whether the weights stayed as they were, since float16 had no numbers for the gradient; see `LossScale`."""
        return not math.isfinite(self.gradient_norm)

    def require_finite(self, number: int, loss_scale: LossScale | None) -> None:
        """Raises UserError where the loss is not a finite number, or the gradient at no scale of the loss."""
        loss = self.smoothed_loss + self.auxiliary_loss
        may_be_left_out = loss_scale is not None and loss_scale.can_fall
        if not math.isfinite(loss) or (self.left_out and not may_be_left_out):
            raise UserError(
                f"the loss is {loss} and its gradient's norm {self.gradient_norm} at update {number}: training has "
                "diverged; the checkpoints before it are good; lower optimizer.lr, or raise optimizer.warmup"
            )


class BatchLoss(nn.Module):
    """The model with its loss: one module with one `forward`, which DistributedDataParallel can wrap."""

    def __init__(self, model: Seq2Seq, config: Config) -> None:
        super().__init__()
        self.model = model
        self.config = config

    def forward(self, batch: Batch | None, seed: int | None) -> tuple[Tensor, Tensor]:
        """Returns the loss summed over the batch, and without a gradient [4] float32: the sums of the cross entropy
        without label smoothing, of that with it, of what the attention adds, and of the cross entropy of links.

        batch: None counts for nothing. seed: of all that is random; None goes on from where the generators are.
        """
        if batch is None:
            parameter = next(parameter for parameter in self.parameters() if parameter.requires_grad)
            return 0.0 * parameter.sum(), torch.zeros(4)
        if seed is not None:
            torch.manual_seed(seed)
        options = self.config.training
        device = next(self.parameters()).device
        wait_k = choose(options.wait_k)
        with autocast(device, self.config.precision):
            loss = self.model(batch.to(device), label_smoothing=options.label_smoothing, wait_k=wait_k)
        links = loss.sum.new_zeros(()) if loss.links is None else loss.links
        auxiliary = loss.auxiliary + options.guided_alignment_weight * links
        sums = torch.stack([loss.token_losses.sum(), loss.sum.detach(), auxiliary.detach(), links.detach()])
        return loss.sum + auxiliary, sums


def choose(choices: tuple[int, ...] | None) -> int | None:
    """Draws one by the generator whose state checkpoints keep; None where there are none."""
    return None if choices is None else choices[int(torch.randint(len(choices), ()))]


# How far a training is: what a checkpoint keeps of it besides weights, moments and random generators.
#
# It is read from checkpoints, so what they hold is checked. (Strict parsing would take no mapping for a part of it.)

Score = Annotated[float, Field(allow_inf_nan=True)]


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class LogWindow:
    """Sums over the updates since the last line of the log."""

    updates: Count = 0
    """Updates that changed the weights; see `LossScale`."""
    tokens: Count = 0
    loss: float = 0.0
    """Sum over all tokens, in nats, as are the next three."""
    smoothed_loss: float = 0.0
    auxiliary_loss: float = 0.0
    links_loss: float = 0.0
    gradient_norm: float = 0.0
    """Sum over the updates that changed the weights."""
    seconds: Annotated[float, Field(ge=0)] = 0.0

    def add(self, update: Update, seconds: float) -> None:
        """Counts one update, which took so many seconds."""
        self.tokens += update.tokens
        self.loss += update.loss * update.tokens
        self.smoothed_loss += update.smoothed_loss * update.tokens
        self.auxiliary_loss += update.auxiliary_loss * update.tokens
        self.links_loss += update.links_loss * update.tokens
        if not update.left_out:
            self.updates += 1
            self.gradient_norm += update.gradient_norm
        self.seconds += seconds

    def means(self) -> dict[str, float]:
        """Returns the means of losses over tokens (one at least) and of norms over updates, and the speed."""
        return {
            "loss": self.loss / self.tokens,
            "smoothed_loss": self.smoothed_loss / self.tokens,
            "auxiliary_loss": self.auxiliary_loss / self.tokens,
            **({"links_loss": self.links_loss / self.tokens} if self.links_loss else {}),
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
    window: LogWindow = field(default_factory=LogWindow)
    last_speed: Annotated[float, Field(ge=0)] = 0.0
    """Target tokens a second between the last two lines of the log."""
    validation_due: bool = False
    """Whether the run stopped after its last update and before the validation that was due."""
    validations: list[Count] = field(default_factory=list)
    """The updates after which there was a validation."""
    best: dict[str, Score] | None = None
    """All scores of the best validation, or of the average of weights where that is better."""
    bad_validations: Annotated[list[Count], Field(min_length=1)] = field(default_factory=lambda: [0])
    """Lengths of the runs of validations without a new best; the last run is the present one."""
    loss_scale: LossScale | None = None
    """The loss scale of a run in float16, from its first update on; None in other precisions."""

    def advance(self, update: Update) -> None:
        """Counts an update that was made."""
        self.update += 1
        self.position += 1
        self.tokens += update.tokens

    def next_epoch(self) -> None:
        """Goes on to the first update of the next epoch."""
        self.epoch += 1
        self.position = 0

    @property
    def best_update(self) -> int | None:
        """Returns the update whose validation was the best so far."""
        return self.validations[-1 - self.bad_validations[-1]] if self.validations else None

    def fault(self, metric: str) -> str | None:
        """Says where the parts contradict one another; None where they do not. metric: chooses the best validation."""
        ordered = all(earlier < later for earlier, later in pairwise([-1, *self.validations, self.update + 1]))
        if not ordered or self.position > self.update:
            return "updates out of order"
        if (self.best is None) != (not self.validations) or self.bad_validations[-1] >= max(1, len(self.validations)):
            return "validations that do not add up"
        if self.best is not None and not {metric, "loss" + metric.removeprefix(without_mode(metric))} <= set(self.best):
            return f"a best validation without {metric} or loss"
        return None


# The loop.

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
    batch. total: of updates, if known. Raises UserError before one whose loss or gradient is not finite."""
    options = config.training
    scale = progress.loss_scale = progress.loss_scale or first_loss_scale(config.precision)
    backward = backward_pass(processes.data_parallel(objective(model, config)), config, processes)
    while progress.epoch <= options.epochs:
        groups = epoch_groups(training, config, progress.epoch)
        # A run that goes on leaves out the updates that it has made in this epoch.
        for group in prefetched(itertools.islice(groups, progress.position, None), processes):
            if progress.update >= (options.max_updates or math.inf):
                return
            train_mode(model, options.freeze)
            optimizer.zero_grad(set_to_none=not isinstance(backward, RecordedPasses))
            divisor = group.tokens if options.normalization == "token" else group.sentences
            sums = []  # of each batch, which adds its share to the gradient of the mean loss
            for seeded_batch in group.batches(config, progress.update + 1):
                sums.append(backward(seeded_batch, divisor / scale_before_backward(scale, processes)))
            # The report, of all processes together; what has diverged ends here, before it changes a weight.
            unscale_gradients(model, scale, processes)
            losses = _mean_losses(sums, group.tokens, processes)
            norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), options.max_grad_norm or math.inf))
            lr = learning_rate(config.optimizer, progress.update + 1, progress.epoch, progress.bad_validations, total)
            update = Update(*losses, norm, lr, group.tokens, group.ends_epoch)
            update.require_finite(progress.update + 1, scale)
            # The step, but none where float16 had no numbers for the gradient.
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


def backward_pass(batch_loss: nn.Module, config: Config, processes: ProcessGroup) -> Callable[..., Tensor]:
    """Returns a function of a `SeededBatch` and a divisor. It adds the gradients of the batch's loss over the divisor
    to those of the parameters, and returns the sums of `BatchLoss`."""
    device = next(batch_loss.parameters()).device
    # Numbers that are drawn on the host, as sound is augmented by, would be the same in every replay.
    options = config.training
    draws = options.wait_k is not None or options.objective == "minimum_risk" or config.frontend.name == "logmel"
    if device.type == "cuda" and processes.size == 1 and not draws:
        return RecordedPasses(batch_loss, device)
    return partial(_backward, batch_loss)


def _backward(batch_loss: nn.Module, seeded_batch: SeededBatch, divisor: float) -> Tensor:
    """What the functions of the batch's graph hold ends with this call, before the next batch needs as much."""
    batch, seed, is_last = seeded_batch
    with synchronized(batch_loss, when=is_last):  # all-reduce of gradients, in the last backward pass
        loss, sums = batch_loss(batch, seed)
        (loss / divisor).backward()
    return sums


def _mean_losses(sums: Sequence[Tensor], tokens: int, processes: ProcessGroup) -> tuple[float, float, float, float]:
    """Returns the means over the target tokens of all processes, of what `BatchLoss` has summed in each batch."""
    sums_of_all = processes.all_reduce(torch.stack([*sums]).cpu().double().sum(0))
    loss, smoothed_loss, auxiliary_loss, links_loss = (sums_of_all / tokens).tolist()
    return loss, smoothed_loss, auxiliary_loss, links_loss
