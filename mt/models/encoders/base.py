"""What an encoder gives: values, keys and a mask for its positions, and a final state."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from jaxtyping import Bool, Float, Int
from pydantic import BaseModel
from torch import Tensor, nn

from mt.models.opt_in import OptIn

State = tuple[Tensor, ...]
"""Batch-first tensors from which an incremental encoder goes on."""


class Encoded(NamedTuple):
    """S positions, which need not be as many as those of the encoder's input."""

    values: Tensor
    """[B, S, V]; zero on padding."""
    keys: Tensor
    """[B, S, V]: what queries are compared with: the values, in all encoders but Gehring et al.'s (2017)."""
    mask: Tensor
    """[B, S] bool: true on real positions, padding on the right."""
    final_state: Tensor
    """[B, U]: from which the decoder's first state is made."""
    first_position: Tensor | None = None
    """[B] int64: the position of the first of them in its source, where earlier ones were encoded before; None: 0."""
    tokens: Tensor | None = None
    """[B, S] int64: the tokens of a text at these positions, where the decoder copies some; else None."""
    unknown: Tensor | None = None
    """See `Memory.unknown`."""


class Encoder(OptIn, nn.Module, ABC):
    """Constructed as `Class(config, input_size)`. Padding never changes a result: a source alone gives what it gives in
    any batch. A subclass opts into `extend`, `causal` and `incremental` of a parent where these hold for it, too (see
    `OptIn`)."""

    opt_in: ClassVar[tuple[str, ...]] = ("extend", "causal", "incremental")
    Config: ClassVar[type[BaseModel]]
    causal: bool = False
    """Whether the value of a position depends on the positions up to it alone."""
    incremental: bool = False
    """Whether `extend` is defined: a value depends on the positions up to it and on a limited number after it."""
    data_dependent_loop: ClassVar[bool] = False
    """Whether how many operations it takes depends on the length of the source, so that it is no fixed graph."""
    value_size: int
    final_state_size: int
    max_source_length: int | None = None
    """Most source positions, EOS included, that it is defined for; None for any number."""

    def output_lengths(self, lengths: Tensor) -> Tensor:
        """Returns how many positions come of so many vectors, [B] int64."""
        return lengths

    @abstractmethod
    def forward(self, vectors: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Encoded:
        """vectors: what the front-end gives; mask: true on real positions, padding on the right."""

    def extend(
        self,
        vectors: Float[Tensor, "B S E"],
        mask: Bool[Tensor, "B S"],
        state: State | None,
        complete: Bool[Tensor, " B"],
    ) -> tuple[Encoded, State]:
        """Encodes the next positions of sources that are still arriving: the same values as `forward` of all at once.

        vectors, mask: the new positions, which a source need not have. state: what the call before returned, None at
        first. complete: which sources end here. Returns the values that are known now, which may be fewer than the new
        positions, or more, or none: its mask says how many each source has. Defined where `incremental`.
        """
        raise NotImplementedError(f"{type(self).__name__} needs the whole source")

    def read_for(self, positions: Int[Tensor, "*shape"], lengths: Int[Tensor, "*#shape"]) -> Int[Tensor, "*shape"]:
        """Returns how many positions of its input must have come before the values at these positions are known.

        positions: from 0. lengths: of the sources, the most there is to wait for.
        """
        return positions + 1 if self.causal else lengths.expand_as(positions)


class CausalEncoder(Encoder):
    """Goes from left to right, so that all of a source and its parts one after another are the same to it: a subclass
    says what it is to go on from a state."""

    causal = incremental = True

    def forward(self, vectors: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Encoded:
        return self._encode(vectors, mask, None)[0]

    def extend(
        self,
        vectors: Float[Tensor, "B S E"],
        mask: Bool[Tensor, "B S"],
        state: State | None,
        complete: Bool[Tensor, " B"],
    ) -> tuple[Encoded, State]:
        return self._encode(vectors, mask, state)

    @abstractmethod
    def _encode(
        self, vectors: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"], state: State | None
    ) -> tuple[Encoded, State]:
        """Encodes the positions after a state, None at the beginning; returns also the state after them."""


def mean(values: Float[Tensor, "B S V"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B V"]:
    """Returns the mean over real positions of values that are zero on padding."""
    return values.sum(1) / mask.sum(1, keepdim=True)


def running_mean(
    values: Float[Tensor, "B S V"], mask: Bool[Tensor, "B S"], state: State | None
) -> tuple[Float[Tensor, "B V"], State]:
    """Returns the `mean` over these and earlier positions, whose state is (their sum [B, V], their number [B, 1]); 0 of
    none."""
    total = values.sum(1)
    count = mask.sum(1, keepdim=True)
    if state is not None:
        total = total + state[0]
        count = count + state[1]
    return total / count.clamp(min=1), (total, count)
