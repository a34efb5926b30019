"""The verbs of an encoder (`Encoder`), and its result: values, keys and a mask of its positions, and a final state
(`Encoded`). `CausalEncoder` is the base of encoders from left to right."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from jaxtyping import Bool, Float, Int
from pydantic import BaseModel
from torch import Tensor, nn

from mt.models.frontends.base import Mask
from mt.models.opt_in import OptIn

Vectors = Float[Tensor, "B S E"]
"""Of the front-end, one for each position of a source."""
State = tuple[Tensor, ...]
"""Batch-first tensors from which an incremental encoder goes on."""


class Encoded(NamedTuple):
    """An encoded source of S positions, whose number may differ from the input's."""

    values: Tensor
    """[B, S, V]; zero on padding."""
    keys: Tensor
    """[B, S, V]: compared with queries; they are the values, in all encoders but Gehring et al.'s (2017)."""
    mask: Tensor
    """[B, S] bool: true on real positions, padding on the right."""
    final_state: Tensor
    """[B, U]: from which the decoder's first state is made."""
    first_position: Tensor | None = None
    """[B] int64: the source position of column 0, where earlier ones were encoded before; None: 0."""
    tokens: Tensor | None = None
    """[B, S] int64: the tokens of a text at these positions, where the decoder copies some; else None."""
    unknown: Tensor | None = None
    """See `Memory.unknown`."""


class Encoder(OptIn, nn.Module, ABC):
    """Constructed as `Class(config, input_size)`. Padding never changes a result: a source alone has the same values as
    in any batch. A subclass opts into `extend`, `causal` and `incremental` of a parent where these hold for it, too
    (see `OptIn`)."""

    opt_in: ClassVar[tuple[str, ...]] = ("extend", "causal", "incremental")
    Config: ClassVar[type[BaseModel]]
    causal: bool = False
    """Whether the value of a position depends on the positions up to it alone."""
    incremental: bool = False
    """Whether `extend` is defined: a value depends on the positions up to it and on a limited number after it."""
    data_dependent_loop: ClassVar[bool] = False
    """Whether its operations grow in number with the source, so that no fixed graph computes it."""
    value_size: int
    final_state_size: int
    max_source_length: int | None = None
    """The most source positions, EOS included, that it is defined for; None for any number."""

    def output_lengths(self, lengths: Tensor) -> Tensor:
        """Returns the number of positions for so many vectors, [B] int64."""
        return lengths

    @abstractmethod
    def forward(self, vectors: Vectors, mask: Mask) -> Encoded:
        """Encodes sources. vectors: of the front-end; mask: true on real positions, padding on the right."""

    def extend(
        self, vectors: Vectors, mask: Mask, state: State | None, complete: Bool[Tensor, " B"]
    ) -> tuple[Encoded, State]:
        """Encodes the next positions of sources that are still arriving: the same values as `forward` of all at once.

        vectors, mask: the new positions, which a source need not have. state: of the call before, None at first.
        complete: which sources end here. Returns the values that no later position can change, and the
        state. They may be fewer than the new positions, or more, or none; the mask tells. Defined where `incremental`.
        """
        raise NotImplementedError(f"{type(self).__name__} needs the whole source")

    def read_for(self, positions: Int[Tensor, "*shape"], lengths: Int[Tensor, "*#shape"]) -> Int[Tensor, "*shape"]:
        """Returns how many input positions must be read before no later one can change the values at these positions.

        positions: from 0. lengths: of the sources, the upper bound.
        """
        return positions + 1 if self.causal else lengths.expand_as(positions)


class CausalEncoder(Encoder):
    """Goes from left to right, so that a whole source and its parts in turn have the same values. A subclass defines
    how to go on from a state."""

    causal = incremental = True

    def forward(self, vectors: Vectors, mask: Mask) -> Encoded:
        return self._encode(vectors, mask, None)[0]

    def extend(
        self, vectors: Vectors, mask: Mask, state: State | None, complete: Bool[Tensor, " B"]
    ) -> tuple[Encoded, State]:
        return self._encode(vectors, mask, state)

    @abstractmethod
    def _encode(self, vectors: Vectors, mask: Mask, state: State | None) -> tuple[Encoded, State]:
        """Encodes the positions after a state, None at the beginning; returns also the state after them."""
