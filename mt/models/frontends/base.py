"""What a front-end is: it makes vectors of what a field of the corpus gives."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from jaxtyping import Bool, Float, Int, Shaped
from pydantic import BaseModel
from torch import Tensor, nn

from mt.models.opt_in import OptIn

State = tuple[Tensor, ...]
"""Batch-first tensors from which an incremental front-end goes on."""


class Frontend(OptIn, nn.Module, ABC):
    """Vectors [B, S', D] of a batch of sources [B, S, ...], whatever they are stored as. Padding never changes a
    result: a source alone gives what it gives in any batch."""

    opt_in = ("extend", "incremental")
    Config: ClassVar[type[BaseModel]]
    field: ClassVar[str]
    """The field that it reads, by its name."""
    ordered: ClassVar[bool] = True
    """Whether its positions come one after another, as those of a text or a sound, and not those of a picture."""
    incremental: bool = False
    """Whether `extend` is defined: a vector depends on the source up to its position and on a limited part after it."""
    incremental_with: str | None = None
    """The option that makes it so; None where it is, or cannot be."""
    extra_read_for_end: ClassVar[int] = 1
    """1 where a source may go on after its last vector came, until it is known to be the last; 0 where that vector says
    it, as EOS of a text does."""
    convolutional: ClassVar[bool] = False
    """Whether most of the time of training goes into its convolutions, over sources of one size."""
    output_size: int
    """D"""

    @abstractmethod
    def forward(
        self, source: Shaped[Tensor, "B S ..."], mask: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B P D"], Bool[Tensor, "B P"]]:
        """source, mask: what the field's `collate` gives; returned are vectors, of which there may be another number,
        and the mask of the real ones."""

    def extend(
        self,
        source: Shaped[Tensor, "B S ..."],
        mask: Bool[Tensor, "B S"],
        complete: Bool[Tensor, " B"],
        state: State | None = None,
    ) -> tuple[Float[Tensor, "B P D"], Bool[Tensor, "B P"], State]:
        """Returns the vectors of sources that are still arriving: in all the same as `forward` of the whole.

        source, mask: the new positions; complete: which sources end with them; state: what the call before returned,
        None for the first positions. There is at least one column of vectors, real or not. Defined where
        `incremental`.
        """
        raise NotImplementedError(f"{type(self).__name__} needs the whole source")

    def needed(self, vectors: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
        """Returns how many positions of a source must have come before so many vectors, 1 or more, are known; where it
        ends before, its end. Rises by one or more for each vector. Defined where `incremental`."""
        return vectors

    def fit(self, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Learns before training begins what is fixed then from (source, mask) batches of the training set, which are
        read as they are asked for. Nothing by default."""

    def output_lengths(self, lengths: Tensor) -> Tensor:
        """Returns how many vectors come of sources of these lengths, [B] int64, counted as their field does."""
        return lengths
