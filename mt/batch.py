"""The batch that a corpus gives to a model; both import it from here."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor


class Batch(NamedTuple):
    """Padded sequences. B pairs, S source and T target positions; masks are true at real tokens."""

    source: Tensor
    """[B, S, ...], as the source's field collates it: of text, int64 ids, EOS last, padded on the right with 0."""
    source_mask: Tensor
    """[B, S] bool."""
    target_in: Tensor
    """[B, T] int64 ids that the decoder reads: BOS first, no EOS."""
    target_out: Tensor
    """[B, T] int64 ids that the decoder predicts: EOS last."""
    target_mask: Tensor
    """[B, T] bool."""
    transcript: Tensor | None = None
    """[B, U] int64 ids of the words of the source, EOS last; None where a corpus does not have it."""
    transcript_mask: Tensor | None = None
    """[B, U] bool."""
    linked: Tensor | None = None
    """[B, T, S] float32: the distribution of each target position over its linked source positions, for guided
    alignment; zeros for a position without links. None: no links are known."""

    def to(self, device: torch.device | str) -> Self:
        """Returns the batch on a device."""
        # Only a copy from pinned memory runs beside the computation; any other is waited for.
        return self._each(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> Self:
        """Returns the batch in memory from which a GPU copies while it computes; itself where there is no GPU."""
        return self._each(torch.Tensor.pin_memory) if torch.cuda.is_available() else self

    def twice(self) -> Self:
        """Returns a batch with every example twice, in two halves."""
        return self._each(lambda tensor: torch.cat((tensor, tensor)))

    def _each(self, change: Callable[[Tensor], Tensor]) -> Self:
        fields: Any = (None if field is None else change(field) for field in self)
        return type(self)(*fields)
