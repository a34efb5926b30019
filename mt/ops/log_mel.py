"""Log-mel energies of sound, as Kaldi makes them (Povey et al. 2011; `feature-window.cc`, `mel-computations.cc`).

Frames of 25 ms, one every 10 ms, centred (`snip_edges=false`: sound is reflected at both ends); the mean of a frame is
taken out, pre-emphasis 0.97, Povey's window, power spectrum, triangles of equal width on the mel scale from 20 Hz to
half the rate, natural logarithm. No dither. Kaldi's samples are integers of 16 bits; those here are in [-1, 1], and are
scaled to that, since the logarithm has a floor.
"""

import functools
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

FULL_SCALE = 2.0**15
FLOOR = torch.finfo(torch.float32).eps
"""The least energy, before the logarithm: digital silence is log(FLOOR) = -15.9."""
LOWEST = 20.0
"""Hz: where the lowest band begins."""


def frame_size(rate: int) -> tuple[int, int]:
    """Samples in a frame, and samples from one frame to the next. rate: samples per second."""
    return rate * 25 // 1000, rate * 10 // 1000


def frame_counts(lengths: Int[Tensor, " B"], rate: int) -> Int[Tensor, " B"]:
    """Frames of so many samples: one for every 10 ms, rounded; less than 5 ms of sound have none."""
    _, shift = frame_size(rate)
    return (lengths + shift // 2) // shift


def log_mel(
    samples: Float[Tensor, "B N"], lengths: Int[Tensor, " B"], rate: int, bands: int = 80
) -> tuple[Float[Tensor, "B S D"], Int[Tensor, " B"]]:
    """Returns the energies of each frame in D = `bands` bands, 0 on padding, and the number of frames of each sound.

    samples: in [-1, 1], padded on the right with anything; lengths: real samples; rate: samples per second, at least
    200. float32, whatever the samples are. What is behind a sound in the batch changes nothing in it.
    """
    window, shift = frame_size(rate)
    counts = frame_counts(lengths, rate)
    frames = int(counts.max()) if len(counts) else 0
    if frames == 0:
        return samples.new_zeros(len(samples), 0, bands, dtype=torch.float32), counts
    reached = torch.arange((frames - 1) * shift + window, device=samples.device) + shift // 2 - window // 2
    # Reflection with the outermost sample twice has a period of two lengths.
    period = 2 * lengths.clamp(min=1)[:, None]
    index = reached % period
    sound = samples.float().gather(1, torch.minimum(index, period - 1 - index))
    features = _energies(sound.unfold(1, window, shift), rate, bands)
    real = torch.arange(frames, device=counts.device) < counts[:, None]
    return features.masked_fill(~real[..., None], 0.0), counts


class LogMelState(NamedTuple):
    """What is left of a sound that is still arriving."""

    samples: Tensor
    """[N]: those that frames to come need."""
    start: int
    """Which sample of the sound is the first of them."""
    frame: int
    """Which frame is the next."""


def log_mel_extend(
    samples: Float[Tensor, " N"], state: LogMelState | None, *, complete: bool, rate: int, bands: int = 80
) -> tuple[Float[Tensor, "S D"], LogMelState]:
    """Returns the next frames of one sound that is still arriving: the same as `log_mel` of all at once, however it is
    cut.

    A frame comes as soon as the samples that it covers are there, 12.5 ms after its centre; the last ones, which
    reflect the sound's end, with `complete`. state: what the call before returned, None at the beginning.
    """
    window, shift = frame_size(rate)
    before, start, frame = (samples[:0], 0, 0) if state is None else state
    available = torch.cat((before, samples))
    ending = start + len(available)
    margin = window // 2 - shift // 2  # samples that a frame reaches to the left of its 10 ms
    frames = (ending + shift // 2) // shift if complete else max(0, (ending - window + margin) // shift + 1)
    if frames <= frame:
        return samples.new_zeros(0, bands, dtype=torch.float32), LogMelState(available, start, frame)
    index = torch.arange(frame * shift - margin, (frames - 1) * shift - margin + window, device=samples.device)
    index = index % (2 * max(ending, 1))
    sound = available.float()[torch.minimum(index, 2 * ending - 1 - index) - start]
    features = _energies(sound[None].unfold(1, window, shift), rate, bands)[0]
    first_needed = max(start, min(ending, frames * shift - margin))
    return features, LogMelState(available[first_needed - start :], first_needed, frames)


def _energies(frames: Float[Tensor, "B S W"], rate: int, bands: int) -> Float[Tensor, "B S D"]:
    frames = FULL_SCALE * frames
    frames = frames - frames.mean(-1, keepdim=True)
    frames = frames - 0.97 * pad(frames, (1, 0), mode="replicate")[..., :-1]
    window, triangles = (table.to(frames.device) for table in _tables(rate, bands))
    size = 2 * len(triangles)
    power = torch.fft.rfft(frames * window, size)[..., :-1].abs().square()
    with torch.autocast(frames.device.type, enabled=False):
        return (power @ triangles).clamp(min=FLOOR).log()


@functools.lru_cache(maxsize=8)
def _tables(rate: int, bands: int) -> tuple[Float[Tensor, " W"], Float[Tensor, "P D"]]:
    """Povey's window, and what each power of the spectrum but the last one, half the rate, adds to each band."""
    window, _ = frame_size(rate)
    povey = torch.hann_window(window, periodic=False, dtype=torch.float64) ** 0.85
    powers = 2 ** (window - 1).bit_length() // 2  # of a Fourier transform of the next power of two
    mels = _mel(torch.arange(powers, dtype=torch.float64) * rate / (2 * powers))
    lowest, highest = _mel(torch.tensor((LOWEST, rate / 2), dtype=torch.float64)).tolist()
    width = (highest - lowest) / (bands + 1)
    centres = lowest + width * torch.arange(1, bands + 1, dtype=torch.float64)
    triangles = (1 - (mels[:, None] - centres).abs() / width).clamp(min=0)
    return povey.float(), triangles.float()


def _mel(hertz: Tensor) -> Tensor:
    return 1127 * (1 + hertz / 700).log()
