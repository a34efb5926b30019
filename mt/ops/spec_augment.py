"""SpecAugment (Park et al. 2019): bands and stretches of time are hidden from a model in training."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def spec_augment(
    features: Float[Tensor, "B S D"],
    lengths: Int[Tensor, " B"],
    generator: torch.Generator,
    *,
    frequency_masks: int = 2,
    frequency_width: int = 27,
    time_masks: int = 2,
    time_width: int = 100,
    time_share: float = 1.0,
) -> Float[Tensor, "B S D"]:
    """Returns the features with masks of 0, which is the mean of normalised features (section 2); without time warping,
    the least of the three (section 5.2). The defaults are policy LD, table 1.

    Each of `frequency_masks` hides f neighbouring bands, f uniform from 0 to `frequency_width`; each of `time_masks`
    t neighbouring frames, t uniform from 0 to `time_width`, and at most `time_share` of a source's frames.

    lengths: the real frames of each source. generator: on any device; one state gives the same masks everywhere.
    """
    sizes = lengths.to(features.device)
    bands = torch.full_like(sizes, features.shape[2])
    hidden = _stretches(frequency_masks, frequency_width, bands, bands, features.shape[2], generator)[:, None]
    longest = (time_share * sizes).floor().long()
    hidden = hidden | _stretches(time_masks, time_width, longest, sizes, features.shape[1], generator)[..., None]
    return features.masked_fill(hidden, 0.0)


def _stretches(
    count: int, width: int, longest: Tensor, sizes: Tensor, size: int, generator: torch.Generator
) -> Bool[Tensor, "B size"]:
    """Where any of `count` stretches lies, in rows of which the first `sizes` positions are real."""
    shape = (2, len(sizes), count)
    draws = torch.rand(shape, generator=generator, device=generator.device, dtype=torch.float64).to(sizes.device)
    widths = ((draws[0] * (width + 1)).floor().long()).minimum(longest[:, None]).minimum(sizes[:, None])
    starts = (draws[1] * (sizes[:, None] - widths + 1)).floor().long()
    positions = torch.arange(size, device=sizes.device)
    return ((positions >= starts[..., None]) & (positions < (starts + widths)[..., None])).any(1)
