"""What a model takes."""

from typing import Protocol, runtime_checkable

from torch import Tensor


@runtime_checkable
class Batch(Protocol):
    """Padded examples. B examples, S source and T target positions; padding on the right."""

    @property
    def source(self) -> Tensor:
        """[B, S, ...]: what the front-end takes."""

    @property
    def source_mask(self) -> Tensor:
        """[B, S] bool: true on real positions."""

    @property
    def target_in(self) -> Tensor:
        """[B, T] int64: BOS and the target without EOS."""

    @property
    def target_out(self) -> Tensor:
        """[B, T] int64: the target with EOS."""

    @property
    def target_mask(self) -> Tensor:
        """[B, T] bool: true on real tokens."""

    @property
    def rows(self) -> Tensor | None:
        """[N] int64: the source of each target, where there are N of these instead of one for each source."""

    @property
    def weights(self) -> Tensor | None:
        """[N] float32: by which each target counts in the loss; None: 1."""

    @property
    def agreement(self) -> float:
        """Above 0, its second half repeats the first, and the loss has so many times how far apart the predictions of
        the two are; see `token_losses`."""

    @property
    def transcript(self) -> Tensor | None:
        """[B, U] int64: what is said in a sound, with EOS; None where that is not known."""

    @property
    def transcript_mask(self) -> Tensor | None:
        """[B, U] bool: true on real tokens; a row with EOS alone has no transcript."""
