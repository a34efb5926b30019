"""Softmax over the real positions of padded sentences."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mt.kernels.precision import result_dtype


def masked_softmax(energy: Float[Tensor, "*batch S"], mask: Bool[Tensor, "..."]) -> Float[Tensor, "*batch S"]:
    """Returns the softmax over the last dimension of `energy` where `mask` is true; exactly zero elsewhere.

    A row without a true position is all zeros, as is its gradient.

    mask: broadcastable to `energy`. Computed and returned in float32, or float64 where `energy` is float64.
    """
    energy = energy.to(result_dtype(energy))
    hidden = ~mask
    weights = energy.masked_fill(hidden, torch.finfo(energy.dtype).min).softmax(-1)
    return weights.masked_fill(hidden, 0.0)
