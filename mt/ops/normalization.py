"""Features with mean 0 and variance 1 in every band: over each source, over a training set, or over what has come of a
sound."""

from collections.abc import Iterable
from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor

from mt.kernels.precision import compute_dtype

SMALLEST = 1e-5
"""Least standard deviation that is divided by: a band that never changes becomes 0."""


class Moments(NamedTuple):
    """The moments of D bands over so many frames, as sums, which can be added. float64 (MPS: float32), as a set has
    1e9 frames.

    A row for each source [B, ...], or one for all [1, ...].
    """

    frames: Float[Tensor, "*rows 1"]
    total: Float[Tensor, "*rows D"]
    squares: Float[Tensor, "*rows D"]

    @classmethod
    def of(cls, features: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> "Moments":
        """Returns the moments of the real frames of each source."""
        real = features.to(compute_dtype(features.device)).masked_fill(~mask[..., None], 0.0)
        return cls(mask.sum(1, keepdim=True).to(real.dtype), real.sum(1), real.square().sum(1))

    @classmethod
    def worth(cls, frames: int, mean: Float[Tensor, " D"], std: Float[Tensor, " D"]) -> "Moments":
        """Returns the moments of so many frames with this mean and standard deviation: what is assumed at the start of
        a sound."""
        mean, std = (part.to(compute_dtype(part.device))[None] for part in (mean, std))
        count = mean.new_full((1, 1), float(frames))
        return cls(count, count * mean, count * (mean.square() + std.square()))

    @classmethod
    def of_all(cls, batches: Iterable[tuple[Tensor, Tensor]]) -> "Moments | None":
        """Returns the moments of the real frames of all (features, mask) batches, as in `of`, one row; None where there
        is no batch."""
        total: Moments | None = None
        for features, mask in batches:
            moments = cls.of(features, mask).sum()
            total = moments if total is None else total + moments
        return total

    def sum(self) -> "Moments":
        """Returns those of all sources together, one row."""
        return Moments(*(part.sum(0, keepdim=True) for part in self))

    def __add__(self, other: "Moments") -> "Moments":  # type: ignore[override]  # not the concatenation of two tuples
        return Moments(*(one + another for one, another in zip(self, other, strict=True)))

    @property
    def mean(self) -> Float[Tensor, "*rows D"]:
        return self.total / self.frames.clamp(min=1)

    @property
    def std(self) -> Float[Tensor, "*rows D"]:
        """Never below `SMALLEST`."""
        variance = self.squares / self.frames.clamp(min=1) - self.mean.square()
        return variance.clamp(min=SMALLEST**2).sqrt()


def normalize(
    features: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"], moments: Moments | None = None
) -> Float[Tensor, "B S D"]:
    """(x - mean) / std of every band, 0 on padding. moments: of a training set
    (`Moments.worth(1, mean, std)` of what is stored of it); None: of each source by itself."""
    moments = Moments.of(features, mask) if moments is None else moments
    return _standardised(features, mask, moments.mean[:, None], moments.std[:, None])


def normalize_running(
    features: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"], before: Moments
) -> tuple[Float[Tensor, "B S D"], Moments]:
    """Returns `normalize` by the frames up to each one alone; and the moments to go on from with the next frames.

    before: of what has come so far, at first what is assumed (`Moments.worth`; some frames of it, as one frame by
    itself has no variance).
    """
    real = features.to(compute_dtype(features.device)).masked_fill(~mask[..., None], 0.0)
    count = before.frames[:, None] + mask.to(real.dtype).cumsum(1)[..., None]
    total = before.total[:, None] + real.cumsum(1)
    squares = before.squares[:, None] + real.square().cumsum(1)
    moments = Moments(count, total, squares)
    # Padding adds nothing, so that the last sums are those of the real frames.
    after = Moments(*(part[:, -1] for part in moments)) if features.shape[1] else before
    return _standardised(features, mask, moments.mean, moments.std), after


def _standardised(features: Tensor, mask: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    return ((features - mean) / std).to(features.dtype).masked_fill(~mask[..., None], 0.0)
