"""The verbs of a front-end, which makes vectors of the sources of a field of the corpus."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from jaxtyping import Bool, Float, Int, Shaped
from pydantic import BaseModel
from torch import Tensor, nn

Mask = Bool[Tensor, "B S"]
"""True on the real positions of a batch of sources; padding is on the right."""
FrontendState = tuple[Tensor, ...]
"""Batch-first tensors from which an incremental front-end goes on."""


class Frontend(nn.Module, ABC):
    """Makes vectors [B, S', D] of a batch of sources [B, S, ...]. Padding never changes a result: a source alone has
    the same vectors as in any batch."""

    Config: ClassVar[type[BaseModel]]
    field: ClassVar[str]
    """The field that it reads, by its name."""
    ordered: ClassVar[bool] = True
    """Whether its positions come one after another, as in a text or a sound, and not as in a picture."""
    incremental: bool = False
    """Whether `extend` is defined: a vector depends on the source up to its position and on a limited part after it."""
    incremental_with: str | None = None
    """The option that makes it so; None where it is, or cannot be."""
    convolutional: ClassVar[bool] = False
    """Whether most of the time of training goes into its convolutions, over sources of one size."""
    output_size: int
    """D"""

    @abstractmethod
    def forward(
        self, source: Shaped[Tensor, "B S ..."], mask: Mask
    ) -> tuple[Float[Tensor, "B P D"], Bool[Tensor, "B P"]]:
        """Returns vectors, which may have another number of positions, and their mask. source, mask: of the field's
        `collate`."""

    def extend(
        self,
        source: Shaped[Tensor, "B S ..."],
        mask: Mask,
        complete: Bool[Tensor, " B"],
        state: FrontendState | None = None,
    ) -> tuple[Float[Tensor, "B P D"], Bool[Tensor, "B P"], FrontendState]:
        """Returns the vectors of sources that are still arriving: in all the same as `forward` of the whole.

        source, mask: the new positions; complete: which sources end with them; state: of the call before, None for the
        first positions. There is at least one column of vectors, real or not. Defined where `incremental`.
        """
        raise NotImplementedError(f"{type(self).__name__} needs the whole source")

    def needed(self, vectors: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
        """Returns how many source positions must have come until this many vectors, 1 or more, are known, unless the
        source ends before. It rises by one or more for each vector. Defined where `incremental`."""
        return vectors

    def fit(self, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Computes fixed statistics before training begins, from (source, mask) batches of the training set, which are
        read on demand. There are none by default."""

    def output_lengths(self, lengths: Tensor) -> Tensor:
        """Returns the number of vectors of sources of these lengths, [B] int64, counted as their field does."""
        return lengths
