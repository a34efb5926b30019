"""The exponential moving average of the weights in the course of training."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from mt.errors import UserError
from mt.training.freezing import trained

_ENDING = ".ema"
"""The ending of the tensors' names in a checkpoint."""


class MovingAverage:
    """The mean of the trained weights over the updates, in which those of n updates ago weigh `decay`^n (Kingma & Ba
    2015, section 7.2), in float32, wherever the model is.

        a_t = decay a_{t-1} + (1 - decay) w_t, divided by 1 - decay^t

    So it is a mean from the first update on, and the random weights of the beginning are no part of it. The division
    is part of each step: a_t += (1 - decay) / (1 - decay^t) (w_t - a_{t-1}).
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._parameters = dict(trained(model))
        self._averages = {name: parameter.detach().float().clone() for name, parameter in self._parameters.items()}

    @torch.no_grad()
    def update(self, number: int) -> None:
        """Takes the present weights in. number: that of the update that gave them, from 1."""
        share = (1 - self.decay) / (1 - self.decay**number)
        for name, average in self._averages.items():
            average.lerp_(self._parameters[name].float(), share)

    @torch.no_grad()
    def fill(self) -> None:
        """Puts the averages into the model, in place of its weights."""
        for name, average in self._averages.items():
            self._parameters[name].copy_(average)

    def tensors(self) -> dict[str, Tensor]:
        """Returns the averages as checkpoints keep them, by `<parameter>.ema`."""
        return {name + _ENDING: average.contiguous() for name, average in self._averages.items()}

    def restore(self, tensors: Mapping[str, Tensor], path: Path) -> None:
        """Puts back what `tensors` returned, of the same names, shapes and types. path: of the file that holds them.
        Raises UserError where some are missing."""
        for name, average in self._averages.items():
            if name + _ENDING not in tensors:
                raise UserError(f"{path} lacks the moving average of {name}: copy the checkpoint again")
            average.copy_(tensors[name + _ENDING])
