"""The features of a frozen, pretrained network as annotation vectors (Xu et al. 2015, section 3.1.1)."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Float16
from pydantic import BaseModel, Field
from torch import Tensor, nn

from mt.common.options import MAX_SIZE, Options
from mt.kernels.linear import Linear
from mt.models.frontends.base import Frontend
from mt.ops.sound import Moments


class FeatureGridConfig(Options):
    name: Literal["features"] = "features"
    channels: Annotated[int, "units"] | None = Field(256, gt=0, le=MAX_SIZE)
    """Size of the annotation vectors, to which a matrix projects the features; null leaves them as they are."""
    dropout: Annotated[float, "share"] = Field(0.1, ge=0, lt=1)
    """Dropout on the annotation vectors."""
    size: Annotated[int, "units"] = Field(112, gt=0, le=MAX_SIZE)
    """Features of a place, as `dataset.field.size`."""


class FeatureGrid(Frontend):
    """Each feature with mean 0 and variance 1 over the training set, and a projection that is trained with the rest."""

    Config: ClassVar[type[BaseModel]] = FeatureGridConfig
    field = "features"
    ordered = False
    mean: Tensor
    std: Tensor

    def __init__(self, config: FeatureGridConfig) -> None:
        super().__init__()
        self.output_size = config.channels or config.size
        self.project = Linear(config.size, config.channels) if config.channels else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        self.register_buffer("mean", torch.zeros(config.size))
        self.register_buffer("std", torch.ones(config.size))

    def forward(
        self, source: Float16[Tensor, "B P F"], mask: Bool[Tensor, "B P"]
    ) -> tuple[Float[Tensor, "B P D"], Bool[Tensor, "B P"]]:
        """Returns one vector for each place. source: its features."""
        return self.dropout(self.project((source.float() - self.mean) / self.std)), mask

    def fit(self, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
        # Mean and deviation of each feature over all real places.
        device = self.mean.device
        moments = Moments.of_all((source.to(device).float(), mask.to(device)) for source, mask in batches)
        if moments is not None:
            self.mean.copy_(moments.mean[0])
            self.std.copy_(moments.std[0])
