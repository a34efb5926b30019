"""Softmax over the real positions of padded sentences."""

import torch
from torch import Tensor

from mt.ops.precision import returned


def masked_softmax(energy: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension of `energy` where `mask` is true; exactly zero elsewhere.

    A row with no true position is all zeros (a global softmax has none; a local window may).

    energy: [..., S]; mask: bool, broadcastable to it. Computed and returned in float32 (or float64, if given so).
    """
    energy = energy.to(returned(energy))
    weights = energy.masked_fill(~mask, torch.finfo(energy.dtype).min).softmax(-1)
    return weights.masked_fill(~mask, 0.0)
