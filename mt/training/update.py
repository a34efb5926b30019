"""One optimizer update: of one batch or several, in one process or in several that share them."""

import math
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from mt.config import Config
from mt.data.batches import Batch, collate
from mt.data.split import Chosen, Split
from mt.device import autocast
from mt.distributed import ProcessGroup, accumulating
from mt.errors import UserError
from mt.generators import derived_seed
from mt.models.seq2seq import Seq2Seq
from mt.optim.optimizer import set_rate
from mt.training.scaling import LossScale


@dataclass(frozen=True)
class Update:
    loss: float
    """Nats per target token, without label smoothing: of a kind with the loss on dev."""
    smoothed_loss: float
    """Nats per target token, label smoothing included: what is minimised, with `auxiliary_loss`."""
    auxiliary_loss: float
    """Nats per target token that the attention adds to it."""
    gradient_norm: float
    """Of the mean loss per token or per sentence, as `training.normalization` says; before clipping. Not finite where
    the update was left out."""
    lr: float
    tokens: int
    """Real target tokens, EOS included."""
    ends_epoch: bool

    @property
    def left_out(self) -> bool:
        """Whether the weights stayed as they were, since float16 had no numbers for the gradient; see `LossScale`."""
        return not math.isfinite(self.gradient_norm)


class Unread(NamedTuple):
    """A batch that is still to be read."""

    part: Split | Chosen
    indices: np.ndarray
    tokens: int
    """Real target tokens, EOS included."""

    def read(self) -> Batch:
        transcripts = self.part.transcripts(self.indices)
        return collate(self.part.ids(self.indices), self.part.source, transcripts).pinned()


Share = list[tuple[int, Future[Batch] | None]]
"""What one process computes of an update: batches, read or being read, each with its place among those of all."""


class Objective(nn.Module):
    """What is minimised, of one batch: the module that processes which train together have replicas of."""

    def __init__(self, model: Seq2Seq, config: Config) -> None:
        super().__init__()
        self.model, self.config = model, config

    def forward(self, batch: Batch | None, seed: int | None) -> tuple[Tensor, Tensor]:
        """The sum over the batch that is learnt from, and [3] float32 without a gradient: the sums of the losses
        without label smoothing, with it, and of what the attention adds.

        batch: None where this process has none, while the others have: it counts for nothing. seed: of all that is
        random in it; None goes on from where the generators are.
        """
        if batch is None:
            parameter = next(parameter for parameter in self.parameters() if parameter.requires_grad)
            return 0.0 * parameter.sum(), torch.zeros(3)
        if seed is not None:
            torch.manual_seed(seed)
        options, device = self.config.training, next(self.parameters()).device
        with autocast(device, self.config.precision):
            loss = self.model(batch.to(device), label_smoothing=options.label_smoothing, wait_k=_drawn(options.wait_k))
        sums = torch.stack([loss.token_losses.sum(), loss.sum.detach(), loss.auxiliary.detach()])
        return loss.sum + loss.auxiliary, sums


class Learner:
    """Makes the updates of one optimizer, with those of other processes where there are any."""

    def __init__(
        self,
        objective: Objective,
        optimizer: torch.optim.Optimizer,
        processes: ProcessGroup,
        reader: ThreadPoolExecutor,
        loss_scale: LossScale | None = None,
    ) -> None:
        """reader: reads batches while others are computed. loss_scale: for products in float16."""
        self._objective, self._optimizer, self._processes, self._reader = objective, optimizer, processes, reader
        self._scale = loss_scale
        self._replica = processes.data_parallel(objective)
        self._ahead: Share = []

    def update(self, batches: Sequence[Unread], following: Sequence[Unread] | None, number: int, lr: float) -> Update:
        """One update, whose result does not depend on how many processes share its batches: its gradient is that of
        the sum over all of them, divided once by all their tokens (or sentences).

        batches: of all processes; following: those of the next update, None at the end of an epoch; number: of the
        update, from 1. Raises UserError where the loss is not a finite number, or the gradient at any scale of the
        loss, and leaves the weights as they are.
        """
        mine = self._ahead or self._reading(batches)
        self._ahead = self._reading(following or ())
        options, model = self._objective.config.training, self._objective.model
        set_rate(self._optimizer, lr)
        self._optimizer.zero_grad()
        tokens = sum(batch.tokens for batch in batches)
        count = tokens if options.normalization == "token" else sum(len(batch.indices) for batch in batches)
        plain, smoothed, auxiliary = (self._gradients(mine, number, count) / tokens).tolist()
        norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), options.max_grad_norm or math.inf))
        finite, scale = math.isfinite(norm), self._scale
        if not math.isfinite(smoothed + auxiliary) or not (finite or (scale and scale.can_fall)):
            raise UserError(
                f"the loss is {smoothed + auxiliary} and its gradient's norm {norm} at update {number}: training has "
                "diverged; the checkpoints before it are good; lower optimizer.lr, or raise optimizer.warmup"
            )
        if scale:
            scale.after(finite)
        if finite:
            self._optimizer.step()
            model.after_update(plain)
        return Update(
            plain, smoothed, auxiliary, gradient_norm=norm, lr=lr, tokens=tokens, ends_epoch=following is None
        )

    def _reading(self, batches: Sequence[Unread]) -> Share:
        return [(place, self._reader.submit(one.read)) for place, one in self._processes.share([*enumerate(batches)])]

    def _gradients(self, mine: Share, number: int, count: int) -> Tensor:
        """Leaves the gradient of the update in the parameters; returns the sums of `Objective` over all batches, [3]
        float64 on the CPU. count: what to divide by."""
        config, processes, scale = self._objective.config, self._processes, self._scale
        # The mean over processes, which DistributedDataParallel leaves, is to be a sum; in float16 only afterwards, so
        # that what its range holds does not depend on their number.
        factor = processes.size if scale is None else scale.factor
        sums = []
        for place, read in mine or [(0, None)]:
            # A batch that is an update by itself goes on from the generators as they are, which checkpoints keep.
            seed = derived_seed(config.seed, number, place) if config.training.gradient_accumulation > 1 else None
            with accumulating(self._replica, ends=not mine or place == mine[-1][0]):
                total, parts = self._replica(None if read is None else read.result(), seed)
                (total / (count / factor)).backward()
            sums.append(parts)
        if scale is not None:
            gradients = (parameter.grad for parameter in self._objective.parameters() if parameter.grad is not None)
            torch._foreach_mul_([*gradients], processes.size / factor)
        return processes.all_reduce(torch.stack(sums).cpu().double().sum(0))


def _drawn(choices: tuple[int, ...] | None) -> int | None:
    """One of them at random, by the generator whose state checkpoints keep; None where there are none."""
    return None if choices is None else choices[int(torch.randint(len(choices), ()))]
