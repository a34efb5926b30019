"""Elementary operations along padded sequences: shifts, and the softmax over real positions."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from mt.kernels.precision import result_dtype

# Shifts along the last dimension.


def shift_right(x: Float[Tensor, "*batch S"], offset: int = 1, fill: float = 0.0) -> Float[Tensor, "*batch S"]:
    """Returns y[..., j] = x[..., j - offset]; `fill` where j < offset."""
    return pad(x, (offset, 0), value=fill)[..., : x.shape[-1]] if offset else x


def shift_left(x: Float[Tensor, "*batch S"], offset: int = 1, fill: float = 0.0) -> Float[Tensor, "*batch S"]:
    """Returns y[..., j] = x[..., j + offset]; `fill` where j + offset >= S."""
    return pad(x, (0, offset), value=fill)[..., offset:] if offset else x


# Softmax over the real positions of padded sentences.


def masked_softmax(energy: Float[Tensor, "*batch S"], mask: Bool[Tensor, "..."]) -> Float[Tensor, "*batch S"]:
    """Returns the softmax over the last dimension of `energy` where `mask` is true; exactly zero elsewhere.

    A row without a true position is all zeros, as is its gradient.

    mask: broadcastable to `energy`. Computed and returned in float32, or float64 where `energy` is float64.
    """
    energy = energy.to(result_dtype(energy))
    hidden = ~mask
    weights = energy.masked_fill(hidden, torch.finfo(energy.dtype).min).softmax(-1)
    return weights.masked_fill(hidden, 0.0)
