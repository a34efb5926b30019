"""The verbs of an encoder (`Encoder`), and its result: values and a mask of its positions, and a final state
(`Encoded`). `CausalEncoder` is the base of encoders from left to right."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from jaxtyping import Bool, Float
from pydantic import BaseModel
from torch import Tensor, nn

from mt.models.frontends.base import Mask

Vectors = Float[Tensor, "B S E"]
"""The front-end's vectors, one for each position of a source."""
EncoderState = tuple[Tensor, ...]
"""Batch-first tensors from which an incremental encoder goes on."""


class Encoded(NamedTuple):
    """An encoded source of S positions."""

    values: Tensor
    """[B, S, V]; zero on padding."""
    mask: Tensor
    """[B, S] bool: true on real positions, padding on the right."""
    final_state: Tensor
    """[B, U]: from which the decoder's first state is made."""
    first_position: Tensor | None = None
    """[B] int64: the source position of column 0, where earlier ones were encoded before; None: 0."""
    source: Tensor | None = None
    """[B, S, ...]: what was encoded, as the front-end takes it, for a decoder that copies."""


class Encoder(nn.Module, ABC):
    """Constructed as `Class(config, input_size)`. Padding never changes a result: a source alone has the same values as
    in any batch."""

    Config: ClassVar[type[BaseModel]]
    incremental: bool = False
    """Whether `extend` is defined: the value of a position depends on the positions up to it alone."""
    value_size: int
    final_state_size: int

    @abstractmethod
    def forward(self, vectors: Vectors, mask: Mask) -> Encoded:
        """Encodes sources. vectors: of the front-end; mask: true on real positions, padding on the right."""

    def extend(
        self, vectors: Vectors, mask: Mask, state: EncoderState | None, complete: Bool[Tensor, " B"]
    ) -> tuple[Encoded, EncoderState]:
        """Encodes the next positions of sources that are still arriving: the same values as `forward` of all at once.

        vectors, mask: the new positions, which a source need not have. state: of the call before, None at first.
        complete: which sources end here. Returns the values of the new positions, and the state. Defined where
        `incremental`.
        """
        raise NotImplementedError(f"{type(self).__name__} needs the whole source")


class CausalEncoder(Encoder):
    """Goes from left to right, so that a whole source and its parts in turn have the same values. A subclass defines
    how to go on from a state."""

    incremental = True

    def forward(self, vectors: Vectors, mask: Mask) -> Encoded:
        return self._encode(vectors, mask, None)[0]

    def extend(
        self, vectors: Vectors, mask: Mask, state: EncoderState | None, complete: Bool[Tensor, " B"]
    ) -> tuple[Encoded, EncoderState]:
        return self._encode(vectors, mask, state)

    @abstractmethod
    def _encode(self, vectors: Vectors, mask: Mask, state: EncoderState | None) -> tuple[Encoded, EncoderState]:
        """Encodes the positions after a state, None at the beginning; returns also the state after them."""
