"""Positions of sources in a padded batch; padding is on the right."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def last(values: Float[Tensor, "B S V"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B V"]:
    """Returns the value of the last real position of each source; of a source without one, of padding. S is at least
    1."""
    return values[torch.arange(len(values), device=values.device), (lengths - 1).clamp(min=0)]


def mirrored(lengths: Int[Tensor, "*shape"], size: int) -> Int[Tensor, "*shape {size}"]:
    """Returns positions that turn the first `lengths` of `size` around and leave the rest."""
    positions = torch.arange(size, device=lengths.device)
    return torch.where(positions < lengths[..., None], lengths[..., None] - 1 - positions, positions)
