"""Sound at another rate, by a sinc with a Hann window (Smith, "Digital Audio Resampling", equation of section 4), and
speed perturbation, which is the same (Ko et al. 2015, "Audio augmentation for speech recognition")."""

import functools
import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import conv1d, pad

ZEROS = 16
"""Zero crossings of the sinc on either side; the more, the steeper the filter."""
ROLLOFF = 0.945
"""The filter's cutoff, as a share of half the lower rate."""


def resample(samples: Float[Tensor, " N"], rate: int, new_rate: int) -> Float[Tensor, " M"]:
    """Returns the same sound with `new_rate` samples a second in place of `rate`: M = ceil(N * new_rate / rate)
    samples.

    What is too high for the new rate is filtered out. float32; with equal rates the sound itself.
    """
    if rate == new_rate or len(samples) == 0:
        return samples.float()
    divisor = math.gcd(rate, new_rate)
    rate = rate // divisor
    new_rate = new_rate // divisor
    length = -(-len(samples) * new_rate // rate)
    kernels, width = _kernels(rate, new_rate)
    padded = pad(samples.float(), (width, width + rate))
    phases = conv1d(padded[None, None], kernels.to(samples.device), stride=rate)
    return phases[0].T.flatten()[:length]


class ResampleState(NamedTuple):
    """What is left of a sound that is still arriving."""

    samples: Tensor
    """[N]: those that samples to come need, with the silence before the sound."""
    read: int
    """How many samples of the sound have come."""
    written: int
    """How many were returned."""


def resample_extend(
    samples: Float[Tensor, " N"], state: ResampleState | None, *, complete: bool, rate: int, new_rate: int
) -> tuple[Float[Tensor, " M"], ResampleState]:
    """Returns the next samples of a sound that is still arriving: the same as `resample` of all at once, however it is
    cut.

    A sample comes when all that its filter reaches is there; the last ones with `complete`. state: what the call before
    returned, None at the beginning.
    """
    divisor = math.gcd(rate, new_rate)
    rate = rate // divisor
    new_rate = new_rate // divisor
    kernels, width = _kernels(rate, new_rate)
    before, read, written = (samples.new_zeros(width), 0, 0) if state is None else state
    read += len(samples)
    available = torch.cat((before, samples.float(), samples.new_zeros(width + rate if complete else 0)))
    blocks = (len(available) - kernels.shape[2]) // rate + 1
    if blocks <= 0:
        return samples.new_zeros(0), ResampleState(available, read, written)
    phases = conv1d(available[None, None], kernels.to(available.device), stride=rate)[0]
    most = -(-read * new_rate // rate) - written
    resampled = phases.T.flatten()[: max(most, 0)]
    return resampled, ResampleState(available[blocks * rate :].clone(), read, written + len(resampled))


def perturb_speed(
    samples: Float[Tensor, " N"], generator: torch.Generator, factors: tuple[float, ...] = (0.9, 1.0, 1.1)
) -> Float[Tensor, " M"]:
    """Returns the sound at one of these speeds, which are equally likely (Ko et al. 2015, section 2.1): 1.1 is a tenth
    faster, and higher. factors: to a hundredth."""
    draw = int(torch.randint(len(factors), (), generator=generator, device=generator.device))
    return resample(samples, round(100 * factors[draw]), 100)


@functools.lru_cache(maxsize=16)
def _kernels(rate: int, new_rate: int) -> tuple[Float[Tensor, "phases 1 K"], int]:
    """Returns a filter for each of the `new_rate` samples that `rate` samples become, and how far it reaches to the
    left."""
    cutoff = ROLLOFF * min(rate, new_rate)
    width = math.ceil(ZEROS * rate / cutoff)
    taps = torch.arange(-width, width + rate, dtype=torch.float64) / rate
    phases = torch.arange(new_rate, dtype=torch.float64) / new_rate
    crossings = cutoff * (taps - phases[:, None])
    window = (math.pi * crossings.clamp(-ZEROS, ZEROS) / (2 * ZEROS)).cos().square()
    return (torch.sinc(crossings) * window * cutoff / rate)[:, None].float(), width
