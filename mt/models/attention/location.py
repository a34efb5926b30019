"""The location energy, which scores positions by their number alone (Luong et al. 2015, section 3.1)."""

from typing import Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from mt.common.options import MAX_SIZE, Options
from mt.errors import UserError
from mt.models.attention.energy import Energy
from mt.models.encoders import Encoded


class LocationConfig(Options):
    name: Literal["location"] = "location"
    max_source_length: int = Field(128, gt=0, le=MAX_SIZE)
    """Source positions, EOS included, that there are scores for; a longer source is refused."""


class Location(Energy):
    """W s, whose row j scores position j whatever its value (Luong et al. 2015, section 3.1, `location`)."""

    Config = LocationConfig
    is_dot_product = True
    max_source_length: int

    def __init__(self, config: LocationConfig, query_size: int, value_size: int, *, normalized: bool = False) -> None:
        super().__init__()
        self.size = query_size
        self.max_source_length = config.max_source_length
        initial = torch.empty(config.max_source_length, query_size).uniform_(-1, 1)
        self.positions = nn.Parameter(initial / query_size**0.5)

    def keys(self, encoded: Encoded) -> Float[Tensor, "B S K"]:
        """Returns rows of W, the same for all sources. Raises UserError where a source has more positions than W has
        rows."""
        mask = encoded.mask
        before = encoded.first_position
        most = self.max_source_length
        if before is not None or mask.shape[1] > most:
            length = int((mask.sum(1) if before is None else mask.sum(1) + before).max())
            if length > most:
                raise UserError(
                    f"a source of {length} tokens is longer than the {most} that location attention has scores for: "
                    "raise attention.energy.max_source_length (attention.max_source_length for attention=location), or "
                    "choose another energy"
                )
        positions = torch.arange(mask.shape[1], device=mask.device)
        if before is None:
            return self.positions[positions.clamp(max=most - 1)].expand(len(mask), -1, -1)
        return self.positions[(before[:, None] + positions).clamp(max=most - 1)]

    def forward(self, queries: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S K"]) -> Float[Tensor, "B T S"]:
        return queries @ keys.transpose(1, 2)
