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


class Encoder(nn.Module):
    """Constructed as `Class(config, input_size)`.

    Padding never changes a result: a sentence alone gives what it gives in any batch.
    """

    Config: ClassVar[type[BaseModel]]
    one_way: ClassVar[bool] = False
    """Whether a position's value depends on the positions up to it alone, so that reading can go on while writing."""
    value_size: int
    summary_size: int

    @abstractmethod
    def forward(self, vectors: Tensor, mask: Tensor) -> Encoded:
        """vectors: [B, S, E], embedded tokens; mask: [B, S] bool, true on real positions, padding on the right."""
