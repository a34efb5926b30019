"""The loss of a batch, and the report of an update."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mt.config import Config
from mt.data.batches import Batch
from mt.device import autocast
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.training.scaling import LossScale


@dataclass(frozen=True)
class Update:
    """One optimizer update. Its losses are nats per target token."""

    loss: float
    """Cross entropy without label smoothing, which can be compared with the loss on dev."""
    smoothed_loss: float
    """Cross entropy with label smoothing, or the risk of `MinimumRisk`; its sum with `auxiliary_loss` is minimised."""
    auxiliary_loss: float
    """What the attention adds."""
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
        """Returns the loss summed over the batch, and without a gradient [3] float32: the sums of the cross entropy
        without label smoothing, of that with it, and of what the attention adds.

        batch: None counts for nothing. seed: of all that is random; None goes on from where the generators are.
        """
        if batch is None:
            parameter = next(parameter for parameter in self.parameters() if parameter.requires_grad)
            return 0.0 * parameter.sum(), torch.zeros(3)
        if seed is not None:
            torch.manual_seed(seed)
        options = self.config.training
        device = next(self.parameters()).device
        wait_k = choose(options.wait_k)
        with autocast(device, self.config.precision):
            loss = self.model(batch.to(device), label_smoothing=options.label_smoothing, wait_k=wait_k)
        sums = torch.stack([loss.token_losses.sum(), loss.sum.detach(), loss.auxiliary.detach()])
        return loss.sum + loss.auxiliary, sums


def choose(choices: tuple[int, ...] | None) -> int | None:
    """Draws one by the generator whose state checkpoints keep; None where there are none."""
    return None if choices is None else choices[int(torch.randint(len(choices), ()))]
