"""A source as attention sees it."""

from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor


class Memory(NamedTuple):
    """Keys are projected once per source; the memory is returned and passed, never stored on a module."""

    keys: tuple[Tensor, ...]
    """What energies compare queries with; each [B, S, ...]."""
    values: Tensor
    """[B, S, V]: what contexts are made of."""
    mask: Tensor
    """[B, S] bool, S at least 1: true on real positions, the EOS included; padding is on the right. A source of which
    nothing is known yet has none."""
    complete: Tensor | None = None
    """[B] bool: false where the source goes on (see `mt.models.attention.arriving`); None: all sources are complete."""
    first: Tensor | None = None
    """[B] int64: the source position of column 0, where earlier ones were dropped; None: 0."""
    visible_from: Tensor | None = None
    """[B, S] int64: the first target step, counted from 0, that may attend to each position, for the attentions that
    support wait-k; None: every step may attend to all of them."""
    tokens: Tensor | None = None
    """[B, S] int64: the source's, where the decoder copies some; else None."""

    def visible(self, steps: Int[Tensor, "B T"]) -> Bool[Tensor, "B _ S"]:
        """Returns the real positions that each of these target steps, counted from 0, may attend to."""
        if self.visible_from is None:
            return self.mask[:, None]
        return self.mask[:, None] & (self.visible_from[:, None] <= steps[..., None])

    def contexts(self, weights: Float[Tensor, "B T S"]) -> Float[Tensor, "B T V"]:
        """Returns the sum of the values, each times its weight, in the type of the values."""
        return weights.to(self.values.dtype) @ self.values
