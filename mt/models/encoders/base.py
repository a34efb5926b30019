"""What an encoder gives: a value for each source position, and a summary of the sentence."""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

from pydantic import BaseModel
from torch import Tensor, nn


class Encoded(NamedTuple):
    values: Tensor
    """[B, S, V]; zero on padding."""
    summary: Tensor
    """[B, U]: where the decoder starts from."""
    compared: Tensor | None = None
    """[B, S, V]: what queries are compared with, where that is not the values (Gehring et al. 2016)."""


class Encoder(nn.Module):
    """Constructed as `Class(config, input_size)`.

    Padding never changes a result: a sentence alone gives what it gives in any batch.
    """

    Config: ClassVar[type[BaseModel]]
    one_way: ClassVar[bool] = False
    """Whether what stands at a position depends on the positions up to it alone, so that reading can go on while
    writing."""
    value_size: int
    summary_size: int
    longest_source: int | None = None
    """Most source tokens, EOS included, that it can read; None for any number."""

    @abstractmethod
    def forward(self, vectors: Tensor, mask: Tensor) -> Encoded:
        """vectors: [B, S, E], embedded tokens; mask: [B, S] bool, true on real positions, padding on the right."""


def mean(values: Tensor, mask: Tensor) -> Tensor:
    """The mean [B, V] over real positions of values [B, S, V] that are zero on padding."""
    return values.sum(1) / mask.sum(1, keepdim=True)
