"""Samples of sound as numbers: one channel, 16 bits, at another rate."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from mt.data.fields.base import SourceError

FULL_SCALE = 1 << 15


_LOUDEST = 2.0
"""Bound of floating-point samples: a decoder or a mixture exceeds 1 now and then, and is clipped there."""
_CHANNELS = 32
"""More are no sound: samples and channels are exchanged."""


def mono(source: Any, name: str = "the sound") -> np.ndarray:
    """Returns the mean of the channels, [N] floating-point numbers. Raises SourceError where they are no sound."""
    if not _is_sound(source):
        array = isinstance(source, np.ndarray)
        form = (
            f"of shape {list(source.shape)} and type {source.dtype}" if array else f"given as {type(source).__name__}"
        )
        raise SourceError(
            f"a sound {form} has another form than [samples] or [samples, channels] of int16 or floating-point numbers"
        )
    samples = source.astype(np.float32) / FULL_SCALE if source.dtype.kind == "i" else source
    peak = float(np.abs(samples).max()) if samples.size else 0.0
    if not np.isfinite(peak):
        raise SourceError(f"{name} has samples that are no finite numbers: record or convert it again")
    if peak > _LOUDEST:
        raise SourceError(
            f"{name} has floating-point samples up to {peak:,.6g}, which lie within -1 and 1: divide them by what full "
            f"scale is, such as {FULL_SCALE}, or write them as 16-bit integers"
        )
    return samples.mean(axis=1) if samples.ndim == 2 else samples


def _is_sound(source: Any) -> bool:
    """Returns whether the form of an array is that of a sound. Integers of other sizes than 16 bits have no scale of
    their own: where numbers come from decides whether they are as large as their type allows."""
    if not isinstance(source, np.ndarray) or source.ndim not in (1, 2):
        return False
    typed = source.dtype.kind == "f" or (source.dtype.kind == "i" and source.dtype.itemsize == 2)
    return typed and (source.ndim == 1 or 1 <= source.shape[1] <= _CHANNELS)


def quantised(samples: np.ndarray) -> np.ndarray:
    """Rounds samples within [-1, 1] to 16 bits, [N] int16."""
    return np.clip(np.rint(samples * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def framed(samples: np.ndarray, hop: int) -> np.ndarray:
    """Cuts samples into positions, [positions, hop] int16, with silence up to a whole one."""
    row = np.zeros((-(-len(samples) // hop), hop), dtype=np.int16)
    row.reshape(-1)[: len(samples)] = samples
    return row


def resampled(samples: np.ndarray, rate: int, new_rate: int) -> np.ndarray:
    """Returns the samples of a whole sound at another rate."""
    if rate == new_rate or not len(samples):
        return samples
    import torch

    from mt.ops.resample import resample

    return resample(torch.from_numpy(np.ascontiguousarray(samples, np.float32)), *ratio(rate, new_rate)).numpy()


def resampled_on(samples: np.ndarray, state: Any, complete: bool, rate: int, new_rate: int) -> tuple[np.ndarray, Any]:
    """Returns the next samples at another rate, and the state to go on from; see `resample_extend`."""
    import torch

    from mt.ops.resample import resample_extend

    tensor = torch.from_numpy(np.ascontiguousarray(samples, np.float32))
    resampled, state = resample_extend(tensor, state, complete=complete, rate=rate, new_rate=new_rate)
    return resampled.numpy(), state


def ratio(rate: int, new_rate: int) -> tuple[int, int]:
    """Returns two small rates of (nearly) the same ratio: rates without a common divisor would need a filter for each
    of many thousand phases."""
    if rate == new_rate:
        return 1, 1
    shortened = Fraction(new_rate, rate).limit_denominator(1_000)
    return shortened.denominator, max(shortened.numerator, 1)
