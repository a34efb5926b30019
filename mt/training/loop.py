"""The training loop as a generator: one optimizer update at a time, resumable between any two.

First come the factor of float16 losses, the report of an update, and the loss of a batch (`BatchLoss`). Then come the
progress that checkpoints keep, and the loop `updates`."""

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated

import pydantic.dataclasses
import torch
from pydantic import ConfigDict, Field
from torch import Tensor, nn

from mt.common.memory import give_back
from mt.common.options import MAX_COUNT, Count
from mt.config import Config
from mt.data.batches import Batch
from mt.data.split import Split
from mt.device import autocast
from mt.distributed import ALONE, ProcessGroup, synchronized
from mt.errors import UserError
from mt.metrics.base import without_mode
from mt.models.losses import Objective
from mt.models.seq2seq import Seq2Seq
from mt.training.batches import SeededBatch, epoch_groups, prefetched
from mt.training.optimizer import learning_rate, train_mode
from mt.training.recorded import RecordedPasses
from mt.training.transforms import Transform

# The factor of a loss in float16 (Micikevicius et al. 2018, section 3.2), which `torch.amp.GradScaler` chooses.

PATIENCE = 2000
"""Updates in a row with a finite gradient, after which the factor is doubled."""
LEAST = 2.0**-10
"""A gradient that is beyond float16 even at this factor has diverged."""


# Read from checkpoints, as a part of `Progress`.
@pydantic.dataclasses.dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class LossScale:
    """The state of a `GradScaler`, as checkpoints keep it."""

    factor: Annotated[float, Field(gt=0)] = 65536.0
    """The factor of the next update's loss."""
    good: Annotated[int, Field(ge=0, lt=PATIENCE)] = 0
    """Updates with a finite gradient since the factor last changed."""
    left_out: Annotated[int, Field(ge=0, le=MAX_COUNT)] = 0
    """Updates of the whole run that were left out, since their gradients were not finite."""

    def follow(self, scaler: torch.amp.GradScaler, *, left_out: bool) -> None:
        """Lets a scaler choose the next factor, and takes over its state."""
        scaler.update()
        state = scaler.state_dict()
        self.factor = state["scale"]
        self.good = state["_growth_tracker"]
        self.left_out += left_out

    def notice(self, update: int) -> str:
        """Returns the notice of the first update that was left out."""
        return (
            f"update {update} was left out: float16 had no numbers for its gradient, and the loss is now multiplied by "
            f"{self.factor:g}; some such updates are usual, most of them at the beginning (this is said once)"
        )


def scaler_of(scale: LossScale | None, device: torch.device) -> torch.amp.GradScaler:
    """Makes a scaler that multiplies a loss in float16 by a factor, and divides its gradient by that. Without a state,
    as in other precisions, it changes nothing."""
    if scale is None:
        return torch.amp.GradScaler(device.type, enabled=False)
    scaler = torch.amp.GradScaler(device.type, growth_interval=PATIENCE)
    scaler.load_state_dict(scaler.state_dict() | {"scale": scale.factor, "_growth_tracker": scale.good})
    return scaler


# The report of an update, and the loss of a batch.


@dataclass(frozen=True)
class Update:
    """One optimizer update. Its losses are nats per target token."""

    loss: float
    """Cross entropy without label smoothing, which can be compared with the loss on dev."""
    smoothed_loss: float
    """Cross entropy with label smoothing; its sum with `auxiliary_loss` is minimised."""
    auxiliary_loss: float
    """The losses of attention and encoder, with the cross entropy of links."""
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
        can_fall = loss_scale is not None and loss_scale.factor / 2 >= LEAST
        if not math.isfinite(loss) or (self.left_out and not can_fall):
            raise UserError(
                f"the loss is {loss} and its gradient's norm {self.gradient_norm} at update {number}: training has "
                "diverged; earlier checkpoints are good; lower optimizer.lr, or raise optimizer.warmup"
            )


# With R-Drop (Liang et al. 2021) two passes of a batch, each with a dropout of its own, are to predict the same.
#
#     L = -log p(y | x) - log q(y | x) + alpha / 2 (KL(p || q) + KL(q || p))        (equations 3 and 4)
#
# p and q are the distributions of each target token in the two passes. With `decoder.copy` they are over the tokens
# that may be generated and the positions that may be copied. Half of L is minimised, which without dropout is the usual
# cross entropy. Both passes are one of a batch of twice the size, with twice its activations.


class BatchLoss(nn.Module):
    """The model with its loss: one module with one `forward`, which DistributedDataParallel can wrap."""

    def __init__(self, model: Seq2Seq, config: Config) -> None:
        super().__init__()
        self.model = model
        self.precision = config.precision
        self.wait_k = config.training.wait_k
        options = config.training
        self.objective = Objective(options.label_smoothing, options.r_drop, options.guided_alignment_weight)

    def forward(self, batch: Batch | None, seed: int | None) -> tuple[Tensor, Tensor]:
        """Returns the loss summed over the batch, and without a gradient [4] float32. These are the sums of the cross
        entropy without label smoothing and with it, of the auxiliary losses, and of the cross entropy of links.

        batch: None counts as 0. seed: of the random numbers; None leaves the generators as they are.
        """
        # A process without a batch takes part in the sum of gradients with zeros.
        if batch is None:
            parameter = next(parameter for parameter in self.parameters() if parameter.requires_grad)
            return 0.0 * parameter.sum(), torch.zeros(4)
        if seed is not None:
            torch.manual_seed(seed)
        twice = self.objective.r_drop > 0
        device = next(self.parameters()).device
        wait_k = choose(self.wait_k)
        with autocast(device, self.precision):
            batch = batch.twice() if twice else batch
            loss = self.model(batch.to(device), wait_k=wait_k, objective=self.objective)
        # What is minimised, and what is reported. A batch that stands there twice counts once.
        links = loss.sum.new_zeros(()) if loss.links is None else loss.links
        total = loss.sum + loss.auxiliary
        sums = torch.stack([loss.token_losses.sum(), loss.sum.detach(), loss.auxiliary.detach(), links.detach()])
        return (total / 2, sums / 2) if twice else (total, sums)


def choose(choices: tuple[int, ...] | None) -> int | None:
    """Draws one of the choices with torch's generator, whose state checkpoints keep. Returns None without choices."""
    return None if choices is None else choices[int(torch.randint(len(choices), ()))]


# The progress of a training, which checkpoints keep besides weights, moments and random generators.
#
# Its fields are checked, since they are read from checkpoints. (Strict parsing would refuse mappings within it.)

Score = Annotated[float, Field(allow_inf_nan=True)]
LOSSES = ("loss", "smoothed_loss", "auxiliary_loss", "links_loss")
"""The losses of an `Update`, and their sums in a `LogWindow`."""


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
        for name in LOSSES:
            setattr(self, name, getattr(self, name) + getattr(update, name) * update.tokens)
        if not update.left_out:
            self.updates += 1
            self.gradient_norm += update.gradient_norm
        self.seconds += seconds

    def means(self) -> dict[str, float]:
        """Returns the means of losses over tokens (one at least) and of norms over updates, and the speed."""
        losses = {name: getattr(self, name) / self.tokens for name in LOSSES if self.links_loss or name != "links_loss"}
        return losses | {
            "gradient_norm": self.gradient_norm / max(self.updates, 1),
            "tokens_per_second": self.tokens / max(self.seconds, 1e-9),
        }


@pydantic.dataclasses.dataclass(config=ConfigDict(strict=True, extra="forbid", allow_inf_nan=False))
class Progress:
    """The progress of a run: with the weights, the optimizer and the random state, all that resuming needs."""

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
        """Returns how two fields of a damaged checkpoint contradict each other, or None if they agree. metric: the name
        of the score that chooses the best validation."""
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
"""Updates after which free memory goes back to the system: at times it is a third of all."""


def updates(
    model: Seq2Seq,
    optimizer: torch.optim.Optimizer,
    training: Split,
    config: Config,
    progress: Progress,
    processes: ProcessGroup = ALONE,
    transform: Transform | None = None,
    total: int | None = None,
) -> Iterator[Update]:
    """Trains, and yields after each update, until the epochs or the updates are used up. Advances `progress`.
    An update does not depend on the number of processes: its gradient is that of the sum of all losses over all tokens
    (or sentences). total: of updates, if known. Raises UserError where loss or gradient is not finite."""
    options = config.training
    scale = progress.loss_scale = progress.loss_scale or (LossScale() if config.precision == "fp16" else None)
    scaler = scaler_of(scale, next(model.parameters()).device)
    backward = backward_pass(processes.data_parallel(BatchLoss(model, config)), config, processes, scaler)
    while progress.epoch <= options.epochs:
        groups = epoch_groups(training, config, progress.epoch, transform)
        # A resumed run skips the updates that it has made in this epoch.
        for group in prefetched(itertools.islice(groups, progress.position, None), processes):
            if progress.update >= (options.max_updates or math.inf):
                return
            train_mode(model, options.freeze)
            optimizer.zero_grad(set_to_none=not isinstance(backward, RecordedPasses))
            # Each batch adds its share to the gradient of the mean loss, which torch averages over the processes.
            divisor = (group.tokens if options.normalization == "token" else group.sentences) / processes.size
            sums = [backward(seeded_batch, divisor) for seeded_batch in group.passes(config, progress.update + 1)]
            scaler.unscale_(optimizer)
            # The report of all processes; a diverged run ends here, before an update of its weights.
            totals = torch.stack(sums).cpu().double().sum(0)
            means = (totals if processes.size == 1 else processes.all_reduce(totals)) / group.tokens
            norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), options.max_grad_norm or math.inf))
            lr = learning_rate(config.optimizer, progress.update + 1, progress.epoch, progress.bad_validations, total)
            update = Update(*means.tolist(), norm, lr, group.tokens, group.ends_epoch)  # type: ignore[call-arg]
            update.require_finite(progress.update + 1, scale)
            # The step; an update whose gradient is beyond float16 is left out.
            if not update.left_out:
                for parameters in optimizer.param_groups:
                    parameters["lr"] = lr
                scaler.step(optimizer)
                if model.after_update is not None:
                    model.after_update(update.loss)
            if scale is not None:
                scale.follow(scaler, left_out=update.left_out)
            progress.advance(update)
            if progress.update % GIVE_BACK_EVERY == 0:
                give_back()
            yield update
        progress.next_epoch()


def backward_pass(
    batch_loss: nn.Module, config: Config, processes: ProcessGroup, scaler: torch.amp.GradScaler
) -> Callable[..., Tensor]:
    """Returns a function that takes a `SeededBatch` and a divisor, divides the batch's loss by it, and adds the
    gradients to the parameters. It returns the sums of `BatchLoss`."""
    device = next(batch_loss.parameters()).device
    # Random numbers that are drawn on the host, as in the augmentation of sound, would repeat in every replay.
    draws = config.training.wait_k is not None or config.frontend.name == "logmel"
    if processes.size == 1 and device.type == "cuda" and not draws:
        return RecordedPasses(batch_loss, device, scaler)

    def passes(seeded_batch: SeededBatch, divisor: float) -> Tensor:
        """Runs both passes of a batch. The memory of its graph is free after this call, before the next batch."""
        # In the last passes of an update the gradients of all processes are averaged.
        with synchronized(batch_loss, when=seeded_batch.is_last) if processes.size > 1 else nullcontext():
            loss, sums = batch_loss(seeded_batch.batch, seeded_batch.seed)
            scaler.scale(loss / divisor).backward()
            return sums

    return passes
