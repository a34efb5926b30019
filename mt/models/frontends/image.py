"""A picture as a grid of annotation vectors (Xu et al. 2015, section 3.1.1), from a small convolutional network that is
trained with the rest: stages (`Stage`) that halve its sides."""

import itertools
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, UInt8
from pydantic import BaseModel, Field
from torch import Tensor, nn
from torch.nn.functional import pad

from mt.common.options import MAX_SIZE, Options
from mt.models.frontends.base import Frontend

PATCH = 16
"""Pixels of the side of a square that counts as a position in the length of a picture."""
NARROWEST = 16
"""The fewest channels of a stage; only the last may have less, by `channels`."""


class ImageGridConfig(Options):
    name: Literal["image"] = "image"
    stages: Annotated[int, "layers"] = Field(3, ge=1, le=6)
    """Each halves the sides of the grid: 128 pixels become 16 x 16 places after three."""
    channels: Annotated[int, "units"] = Field(128, ge=8, le=MAX_SIZE)
    """Of the last stage, which is the size of the annotation vectors; each stage before has half of the next, at least
    16."""
    coordinates: bool = False
    """Whether the coordinates of each pixel join its colours in the first convolution (Liu et al. 2018), so that
    annotation vectors can tell their places."""
    local: bool = False
    """Whether receptive fields are small and symmetric. After three stages a place that covers 8 pixels sees 22. Else
    it sees 43, most of them above it and to its left. Attention then has to look at the object that it names: places
    that see half of the picture all know the objects anywhere."""
    dropout: Annotated[float, "share"] = Field(0.1, ge=0, lt=1)
    """Dropout on the annotation vectors."""


class PlaceNorm(nn.LayerNorm):
    """Layer normalisation (Ba et al. 2016) of the channels of each place, as Liu et al. (2022, section 2.6) have it in
    convolutional networks. A norm over all places hides small objects, and tells each place of the others.

    Fast where channels lie next to each other in memory (`torch.channels_last`).
    """

    def forward(self, planes: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        return super().forward(planes.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Stage(nn.Module):
    """Halves the sides: a convolution with stride 2, and one more with a residual connection (He et al. 2016).

    local: the first is of four pixels, which is symmetric, and the second of one.
    """

    def __init__(self, inputs: int, outputs: int, *, local: bool) -> None:
        super().__init__()
        self.halve = nn.Conv2d(inputs, outputs, 4 if local else 3, stride=2, padding=1)
        self.norm = PlaceNorm(outputs)
        self.convolution = nn.Conv2d(outputs, outputs, 1 if local else 3, padding=0 if local else 1)
        self.local = local

    def forward(self, planes: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B D Y2 X2"]:
        right = planes.shape[3] % 2
        below = planes.shape[2] % 2
        # A kernel of four pixels would leave out the last row or column of an odd side.
        if self.local and (right or below):
            planes = pad(planes, (0, right, 0, below))
        halved = self.norm(self.halve(planes)).relu()
        return (halved + self.convolution(halved)).relu()


class ImageGrid(Frontend):
    """Places row by row, from the upper left."""

    Config: ClassVar[type[BaseModel]] = ImageGridConfig
    field = "image"
    ordered = False
    convolutional = True

    def __init__(self, config: ImageGridConfig) -> None:
        super().__init__()
        self.output_size = config.channels
        # Back from the last stage, each has half the channels of the next; the last has exactly `channels`.
        widths = [max(config.channels >> stage, NARROWEST) for stage in range(config.stages)]
        self.coordinates = config.coordinates
        sizes = [5 if config.coordinates else 3, *widths[:0:-1], config.channels]
        self.stages = nn.Sequential(*(Stage(*pair, local=config.local) for pair in itertools.pairwise(sizes)))
        self.norm = nn.LayerNorm(config.channels)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, source: UInt8[Tensor, "B Y X 3"], mask: Bool[Tensor, "B Y"]
    ) -> tuple[Float[Tensor, "B P D"], Bool[Tensor, "B P"]]:
        """Returns one vector for each place. source: pixels, red, green, blue; all are real."""
        # From 0 .. 255 to -1 .. 1.
        pixels = source.float() / 127.5 - 1
        if self.coordinates:
            down, right = (torch.linspace(-1, 1, size, device=pixels.device) for size in pixels.shape[1:3])
            where = torch.stack(torch.meshgrid(right, down, indexing="xy"), -1)  # [Y, X, 2]
            pixels = torch.cat((pixels, where.expand(len(pixels), -1, -1, -1)), -1)  # [B, Y, X, 5]
        # Channels stay next to each other in memory, so that convolutions are faster, on a CPU too.
        grid = self.stages(pixels.permute(0, 3, 1, 2))  # [B, D, rows, columns]
        places = self.norm(grid.flatten(2).transpose(1, 2))  # [B, P, D]
        return self.dropout(places), torch.ones(places.shape[:2], dtype=torch.bool, device=places.device)

    def output_lengths(self, lengths: Tensor) -> Tensor:
        # Pictures are square, and their lengths count patches.
        sides = PATCH * lengths.double().sqrt().round().long()
        # Each stage halves and rounds up, which together is one division, rounded up.
        return (-(-sides // 2 ** len(self.stages))) ** 2
