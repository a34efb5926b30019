"""First-order linear recurrences along the last dimension, and the shifts that they need."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad


def linear_scan(
    decay: Float[Tensor, "*batch S"], inputs: Float[Tensor, "*batch S"], *, reverse: bool = False
) -> Float[Tensor, "*batch S"]:
    """h[j] = decay[j] h[j-1] + inputs[j] with h[-1] = 0; reversed, h[j] = decay[j] h[j+1] + inputs[j] with h[S] = 0.

    Sums of products alone, without division, so accurate for any decay in [0, 1]. All of one dtype. Not differentiable:
    the functions that use it have their own gradients.
    """
    # Positions first, so that each step of the loop reads and writes contiguous memory.
    decay_SN, inputs_SN = (x.movedim(-1, 0).contiguous() for x in (decay, inputs))
    h_SN = torch.empty_like(inputs_SN)
    rows = list(zip(decay_SN, inputs_SN, h_SN, strict=True))
    h = torch.zeros_like(inputs_SN[0]) if rows else h_SN
    for decay_N, input_N, h_out_N in reversed(rows) if reverse else rows:
        h = torch.addcmul(input_N, decay_N, h, out=h_out_N)
    return h_SN.movedim(0, -1)


def shift_right(x: Float[Tensor, "*batch S"], offset: int = 1, fill: float = 0.0) -> Float[Tensor, "*batch S"]:
    """y[..., j] = x[..., j - offset]; `fill` where j < offset."""
    return pad(x, (offset, 0), value=fill)[..., : x.shape[-1]] if offset else x


def shift_left(x: Float[Tensor, "*batch S"], offset: int = 1, fill: float = 0.0) -> Float[Tensor, "*batch S"]:
    """y[..., j] = x[..., j + offset]; `fill` where j + offset >= S."""
    return pad(x, (0, offset), value=fill)[..., offset:] if offset else x
