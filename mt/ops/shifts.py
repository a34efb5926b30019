"""Shifts along the last dimension."""

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad


def shift_right(x: Float[Tensor, "*batch S"], offset: int = 1, fill: float = 0.0) -> Float[Tensor, "*batch S"]:
    """y[..., j] = x[..., j - offset]; `fill` where j < offset."""
    return pad(x, (offset, 0), value=fill)[..., : x.shape[-1]] if offset else x


def shift_left(x: Float[Tensor, "*batch S"], offset: int = 1, fill: float = 0.0) -> Float[Tensor, "*batch S"]:
    """y[..., j] = x[..., j + offset]; `fill` where j + offset >= S."""
    return pad(x, (0, offset), value=fill)[..., offset:] if offset else x
