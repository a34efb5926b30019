"""Sound features, a section for each: log-mel energies as Kaldi makes them, resampling, normalisation, SpecAugment's
masks. Sounds may be whole, or still arriving (`_extend`, `_running`)."""

import functools
import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import conv1d, pad

from mt.kernels.precision import compute_dtype

# Log-mel energies of sound, as Kaldi makes them (Povey et al. 2011; `feature-window.cc`, `mel-computations.cc`).
#
# Frames last 25 ms, begin every 10 ms, and are centred (`snip_edges=false`: sound is reflected at both ends). Each
# loses its mean, and goes through pre-emphasis (0.97), Povey's window and the power spectrum. Its bands are triangles
# of equal width on the mel scale, from 20 Hz to half the rate. Energies are natural logarithms. There is no dither.
# Kaldi's samples are integers of 16 bits; samples here are in [-1, 1], and scaled, since the logarithm has a floor.

FULL_SCALE = 2.0**15
FLOOR = torch.finfo(torch.float32).eps
"""The least energy, before the logarithm: digital silence is log(FLOOR) = -15.9."""
LOWEST = 20.0
"""Hz: where the lowest band begins."""


def frame_size(rate: int) -> tuple[int, int]:
    """Returns the samples in a frame, and the samples from one frame to the next. rate: samples per second."""
    return rate * 25 // 1000, rate * 10 // 1000


def log_mel(
    samples: Float[Tensor, "B N"], lengths: Int[Tensor, " B"], rate: int, bands: int = 80
) -> tuple[Float[Tensor, "B S D"], Int[Tensor, " B"]]:
    """Returns the energies of each frame in D = `bands` bands, 0 on padding, and the number of frames of each sound.

    There is a frame for every 10 ms, rounded, so that less than 5 ms have none.

    samples: in [-1, 1], padded on the right with anything; lengths: real samples; rate: samples per second, at least
    200. float32, whatever the samples are. What is behind a sound in the batch changes nothing in it.
    """
    # How many frames there are.
    window, shift = frame_size(rate)
    counts = (lengths + shift // 2) // shift
    frames = int(counts.max()) if len(counts) else 0
    if frames == 0:
        return samples.new_zeros(len(samples), 0, bands, dtype=torch.float32), counts
    # The samples that they reach, by their numbers. Reflection with the outermost sample twice has a period of two
    # lengths.
    reached = torch.arange((frames - 1) * shift + window, device=samples.device) + shift // 2 - window // 2
    period = 2 * lengths.clamp(min=1)[:, None]
    # The remainder has the sign of the divisor, so that places before the sound are reflected, too.
    index = reached % period
    sound = samples.float().gather(1, torch.minimum(index, period - 1 - index))
    # [B, samples] -> [B, S, W] -> [B, S, D]
    features = _energies(sound.unfold(1, window, shift), rate, bands)
    real = torch.arange(frames, device=counts.device) < counts[:, None]
    return features.masked_fill(~real[..., None], 0.0), counts


class LogMelState(NamedTuple):
    """The state of a sound that is still arriving."""

    samples: Tensor
    """[N]: the samples that frames to come need, from where the next frame begins."""
    frame: int
    """The index of the next frame."""


def log_mel_extend(
    samples: Float[Tensor, " N"], state: LogMelState | None, *, complete: bool, rate: int, bands: int = 80
) -> tuple[Float[Tensor, "S D"], LogMelState]:
    """Returns the next frames of one sound that is still arriving: the same as `log_mel` of all at once, however it is
    cut.

    A frame comes as soon as the samples that it covers are there, 12.5 ms after its centre. The last ones, which
    reflect the sound's end, come with `complete`. state: as the call before returned it, None at the beginning.
    """
    # The samples that are there, from `start` to `ending`, and how many frames they cover.
    window, shift = frame_size(rate)
    kept, frame = LogMelState(samples[:0], 0) if state is None else state
    available = torch.cat((kept, samples))
    margin = window // 2 - shift // 2  # samples that a frame reaches to the left of its 10 ms
    start = max(0, frame * shift - margin)
    ending = start + len(available)
    frames = (ending + shift // 2) // shift if complete else max(0, (ending - window + margin) // shift + 1)
    if frames <= frame:
        return samples.new_zeros(0, bands, dtype=torch.float32), LogMelState(available, frame)
    # The new frames, and the samples from which later ones go on.
    index = torch.arange(frame * shift - margin, (frames - 1) * shift - margin + window, device=samples.device)
    index = index % (2 * max(ending, 1))
    sound = available.float()[torch.minimum(index, 2 * ending - 1 - index) - start]
    # The windows of the frames are views, [1, frames, window].
    features = _energies(sound[None].unfold(1, window, shift), rate, bands)[0]
    first_needed = max(0, frames * shift - margin)
    return features, LogMelState(available[first_needed - start :], frames)


def _energies(frames: Float[Tensor, "B S W"], rate: int, bands: int) -> Float[Tensor, "B S D"]:
    frames = FULL_SCALE * frames
    frames = frames - frames.mean(-1, keepdim=True)
    # The first sample of a frame counts as its own predecessor, as in Kaldi.
    frames = frames - 0.97 * pad(frames, (1, 0), mode="replicate")[..., :-1]
    window, triangles = (table.to(frames.device) for table in _tables(rate, bands))
    size = 2 * len(triangles)
    power = torch.fft.rfft(frames * window, size)[..., :-1].abs().square()
    # Under autocast the product would be in bfloat16, whose 8 bits leave little of a quiet band.
    with torch.autocast(frames.device.type, enabled=False):
        return (power @ triangles).clamp(min=FLOOR).log()


@functools.lru_cache(maxsize=8)
def _tables(rate: int, bands: int) -> tuple[Float[Tensor, " W"], Float[Tensor, "P D"]]:
    """Returns Povey's window, and the share of each power of the spectrum in each band.

    The last power, of half the rate, is left out.
    """
    window, _ = frame_size(rate)
    povey = torch.hann_window(window, periodic=False, dtype=torch.float64) ** 0.85
    powers = 2 ** (window - 1).bit_length() // 2  # of a Fourier transform of the next power of two
    mels = _mel(torch.arange(powers, dtype=torch.float64) * rate / (2 * powers))
    lowest, highest = _mel(torch.tensor((LOWEST, rate / 2), dtype=torch.float64)).tolist()
    width = (highest - lowest) / (bands + 1)
    centres = lowest + width * torch.arange(1, bands + 1, dtype=torch.float64)
    # Each triangle ends at the centres of its neighbours.
    triangles = (1 - (mels[:, None] - centres).abs() / width).clamp(min=0)
    return povey.float(), triangles.float()


def _mel(hertz: Tensor) -> Tensor:
    # As in HTK and Kaldi: 2595 times the logarithm to the base of 10.
    return 1127 * (1 + hertz / 700).log()


# Resampling by a sinc with a Hann window (Smith, "Digital Audio Resampling", equation of section 4), of which speed
# perturbation is a case (Ko et al. 2015, "Audio augmentation for speech recognition").

ZEROS = 16
"""Zero crossings of the sinc on either side; the more, the steeper the filter."""
ROLLOFF = 0.945
"""The filter's cutoff, as a share of half the lower rate."""


def resample(samples: Float[Tensor, " N"], rate: int, new_rate: int) -> Float[Tensor, " M"]:
    """Returns the same sound with `new_rate` samples a second in place of `rate`: M = ceil(N * new_rate / rate).

    Frequencies above half the new rate are filtered out. float32; with equal rates the sound itself.
    """
    if rate == new_rate or len(samples) == 0:
        return samples.float()
    return resample_extend(samples, None, complete=True, rate=rate, new_rate=new_rate)[0]


class ResampleState(NamedTuple):
    """The state of a sound that is still arriving."""

    samples: Tensor
    """[N]: the samples that the next results need, with the silence before the sound."""
    read: int
    """The number of samples of the sound so far."""
    written: int
    """The number of samples returned so far."""


def resample_extend(
    samples: Float[Tensor, " N"], state: ResampleState | None, *, complete: bool, rate: int, new_rate: int
) -> tuple[Float[Tensor, " M"], ResampleState]:
    """Returns the next samples of a sound that is still arriving: the same as `resample` of all at once, however it is
    cut.

    A sample comes as soon as all samples within its filter are there; the last ones come with `complete`. state: as the
    call before returned it, None at the beginning.
    """
    # `rate` samples become `new_rate`, each by a filter of its own.
    divisor = math.gcd(rate, new_rate)
    rate = rate // divisor
    new_rate = new_rate // divisor
    kernels, width = _kernels(rate, new_rate)
    kept, read, written = ResampleState(samples.new_zeros(width), 0, 0) if state is None else state
    read += len(samples)
    # Silence surrounds a sound.
    available = torch.cat((kept, samples.float(), samples.new_zeros(width + rate if complete else 0)))
    blocks = (len(available) - kernels.shape[2]) // rate + 1
    if blocks <= 0:
        return samples.new_zeros(0), ResampleState(available, read, written)
    # [phases, blocks] -> the next samples in their order.
    phases = conv1d(available[None, None], kernels.to(available.device), stride=rate)[0]
    most = -(-read * new_rate // rate) - written
    resampled = phases.T.flatten()[: max(most, 0)]
    # A view would keep all of the last piece in memory.
    return resampled, ResampleState(available[blocks * rate :].clone(), read, written + len(resampled))


def perturb_speed(
    samples: Float[Tensor, " N"], generator: torch.Generator, factors: tuple[float, ...]
) -> Float[Tensor, " M"]:
    """Returns the sound at one of these speeds, which are equally likely (Ko et al. 2015, section 2.1): 1.1 is a tenth
    faster, and higher. factors: to a hundredth."""
    draw = int(torch.randint(len(factors), (), generator=generator, device=generator.device))
    # At 1.1, 110 samples become 100, which are then played at the old rate.
    return resample(samples, round(100 * factors[draw]), 100)


@functools.lru_cache(maxsize=16)
def _kernels(rate: int, new_rate: int) -> tuple[Float[Tensor, "phases 1 K"], int]:
    """Returns a filter for each of the `new_rate` samples that `rate` samples become, and its reach to the left."""
    cutoff = ROLLOFF * min(rate, new_rate)
    width = math.ceil(ZEROS * rate / cutoff)
    taps = torch.arange(-width, width + rate, dtype=torch.float64) / rate
    phases = torch.arange(new_rate, dtype=torch.float64) / new_rate
    crossings = cutoff * (taps - phases[:, None])
    # Hann's window, which is 0 from the last zero crossing on.
    window = (math.pi * crossings.clamp(-ZEROS, ZEROS) / (2 * ZEROS)).cos().square()
    return (torch.sinc(crossings) * window * cutoff / rate)[:, None].float(), width


# Normalisation to mean 0 and variance 1 in every band: over each source, a training set, or a sound so far.

SMALLEST = 1e-5
"""The least divisor of a band: one that never changes becomes 0."""


class Moments(NamedTuple):
    """Sums of D bands over frames. float64 (MPS: float32), as a training set has 1e9 frames.

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
        """Returns the moments that this many frames with this mean and standard deviation would have, as a sound
        assumes them at its start."""
        mean, std = (x.to(compute_dtype(x.device))[None] for x in (mean, std))
        count = mean.new_full((1, 1), float(frames))
        return cls(count, count * mean, count * (mean.square() + std.square()))

    @classmethod
    def of_all(cls, batches: Iterable[tuple[Tensor, Tensor]]) -> "Moments | None":
        """Returns the moments of the real frames of all (features, mask) batches, as in `of`, one row; None where there
        is no batch."""
        sums: list[Tensor] | None = None
        for features, mask in batches:
            of_batch = [x.sum(0, keepdim=True) for x in cls.of(features, mask)]
            sums = of_batch if sums is None else list(map(torch.add, sums, of_batch))
        return None if sums is None else cls(*sums)

    @property
    def mean(self) -> Float[Tensor, "*rows D"]:
        # Without a frame, as of padding alone, it is 0.
        return self.total / self.frames.clamp(min=1)

    @property
    def std(self) -> Float[Tensor, "*rows D"]:
        """The standard deviation, never below `SMALLEST`."""
        # The difference of two large numbers, hence the float64 of the sums.
        variance = self.squares / self.frames.clamp(min=1) - self.mean.square()
        return variance.clamp(min=SMALLEST**2).sqrt()


def normalize(
    features: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"], moments: Moments | None = None
) -> Float[Tensor, "B S D"]:
    """Returns (x - mean) / std of every band, 0 on padding.

    moments: of a training set, made by `Moments.worth(1, mean, std)`; None: of each source by itself.
    """
    moments = Moments.of(features, mask) if moments is None else moments
    return _standardised(features, mask, moments.mean[:, None], moments.std[:, None])


def normalize_running(
    features: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"], so_far: Moments
) -> tuple[Float[Tensor, "B S D"], Moments]:
    """Returns the features normalised by the frames up to each one alone, and the moments for the next frames.

    so_far: at first assumed (`Moments.worth` of several frames, as one frame by itself has no variance).
    """
    real = features.to(compute_dtype(features.device)).masked_fill(~mask[..., None], 0.0)
    count = so_far.frames[:, None] + mask.to(real.dtype).cumsum(1)[..., None]
    total = so_far.total[:, None] + real.cumsum(1)
    squares = so_far.squares[:, None] + real.square().cumsum(1)
    moments = Moments(count, total, squares)
    # Padding adds nothing, so that the last sums are over the real frames.
    after = Moments(*(x[:, -1] for x in moments)) if features.shape[1] else so_far
    return _standardised(features, mask, moments.mean, moments.std), after


def _standardised(features: Tensor, mask: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    return ((features - mean) / std).to(features.dtype).masked_fill(~mask[..., None], 0.0)


def spec_augment(
    features: Float[Tensor, "B S D"],
    lengths: Int[Tensor, " B"],
    generator: torch.Generator,
    *,
    frequency_masks: int,
    frequency_width: int,
    time_masks: int,
    time_width: int,
    time_share: float,
) -> Float[Tensor, "B S D"]:
    """Returns the features with masks of 0, the mean of normalised features (SpecAugment, Park et al. 2019, section 2).

    Time warping, the least of the three, is left out (section 5.2).
    Each of `frequency_masks` hides f neighbouring bands, with f uniform from 0 to `frequency_width`. Each of
    `time_masks` hides t neighbouring frames, with t uniform from 0 to `time_width`, and at most `time_share` of a
    source's frames.

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
    """Returns true where any of `count` random stretches lies, among the first `sizes` positions of each source."""
    shape = (2, len(sizes), count)
    draws = torch.rand(shape, generator=generator, device=generator.device, dtype=torch.float64).to(sizes.device)
    widths = ((draws[0] * (width + 1)).floor().long()).minimum(longest[:, None]).minimum(sizes[:, None])
    starts = (draws[1] * (sizes[:, None] - widths + 1)).floor().long()
    positions = torch.arange(size, device=sizes.device)
    return ((positions >= starts[..., None]) & (positions < (starts + widths)[..., None])).any(1)
