"""What a front-end is: it makes vectors of what a field of the corpus gives."""

from abc import abstractmethod

from jaxtyping import Float, Shaped
from torch import Tensor, nn


class Frontend(nn.Module):
    """Vectors [B, S, D] for the S positions of a batch of sources, whatever they are stored as."""

    output_size: int
    """D"""

    @abstractmethod
    def forward(self, source: Shaped[Tensor, "B S ..."]) -> Float[Tensor, "B S D"]:
        """source: what the field's `collate` gives."""
