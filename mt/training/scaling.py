"""What a loss in float16 is multiplied by, so that its gradients are numbers that float16 has."""

from typing import Annotated

import pydantic.dataclasses
import torch
from pydantic import ConfigDict, Field
from torch import nn

from mt.common.options import MAX_COUNT
from mt.distributed import ProcessGroup

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
