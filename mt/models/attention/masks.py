"""What masks [B, S] say that are true on real positions, padding on the right."""

import torch
from jaxtyping import Bool
from torch import Tensor


def last(mask: Bool[Tensor, "B S"]) -> Bool[Tensor, "B S"]:
    """Returns a mask that is true on the last real position of each sentence."""
    return mask & ~torch.nn.functional.pad(mask, (0, 1))[:, 1:]


def first(mask: Bool[Tensor, "B S"]) -> Bool[Tensor, "B S"]:
    """Returns a mask that is true on the first position."""
    return torch.arange(mask.shape[1], device=mask.device).expand_as(mask) == 0
