"""Sound: samples at one rate, in positions of 10 ms.

First come functions that make one channel at the model's rate. `ArrivingSound` cuts a growing sound. `AudioField` reads
whole files or arrays, and draws them. Its `pieces` reads a file bit by bit, and `pcm` raw samples, for streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field as Option, field_validator

from mt.common.backdrop import Sound
from mt.common.options import Options
from mt.data.fields.base import ArrayField, Arriving, Raw, Row, SourceError
from mt.data.fields.recordings import named, opened_recording
from mt.data.tokenizer import Tokenizer, Unit
from mt.errors import UserError

FRAMES = 100
"""Positions in a second."""
_MILLISECONDS = 1000 // FRAMES
_HEADERS = {
    b"RIFF": "wav",
    b"RF64": "wav",
    b"riff": "w64",
    b"fLaC": "flac",
    b"OggS": "ogg",
    b"FORM": "aiff",
    b".snd": "au",
    b"caff": "caf",
    b"ID3\2": "mp3",
    b"ID3\3": "mp3",
    b"ID3\4": "mp3",
}

_BANDS = 40
"""Mel bands of the spectrogram that attention is drawn on."""


# Samples of sound as numbers: one channel, 16 bits, at another rate.

FULL_SCALE = 1 << 15


_LOUDEST = 2.0
"""The bound of floating-point samples. Decoders and mixtures exceed 1 now and then, and are clipped."""
_CHANNELS = 32
"""An array with more channels is taken for one with samples and channels exchanged."""


def mono(source: Any, name: str = "the sound") -> np.ndarray:
    """Returns the mean of the channels, [N] floating-point numbers. Raises SourceError where the source is no sound."""
    # The form: samples, or samples of several channels.
    if not _is_sound(source):
        array = isinstance(source, np.ndarray)
        form = (
            f"of shape {list(source.shape)} and type {source.dtype}" if array else f"given as {type(source).__name__}"
        )
        raise SourceError(
            f"a sound {form} has another form than [samples] or [samples, channels] of int16 or floating-point numbers"
        )
    # The numbers: finite, and about within -1 and 1.
    samples = source.astype(np.float32) / FULL_SCALE if source.dtype.kind == "i" else source
    peak = float(np.abs(samples).max()) if samples.size else 0.0
    if not np.isfinite(peak):
        raise SourceError(f"{name} has samples that are no finite numbers: record or convert it again")
    if peak > _LOUDEST:
        raise SourceError(
            f"{name} has floating-point samples up to {peak:,.6g}, which lie within -1 and 1: divide them by their "
            f"full scale, such as {FULL_SCALE}, or write int16"
        )
    return samples.mean(axis=1) if samples.ndim == 2 else samples


def _is_sound(source: Any) -> bool:
    """Returns whether an array has the shape and the type of a sound. Integers of other sizes than 16 bits are refused,
    since nothing says whether they fill their type."""
    if not isinstance(source, np.ndarray) or source.ndim not in (1, 2):
        return False
    typed = source.dtype.kind == "f" or (source.dtype.kind == "i" and source.dtype.itemsize == 2)
    return typed and (source.ndim == 1 or 1 <= source.shape[1] <= _CHANNELS)


def quantised(samples: np.ndarray) -> np.ndarray:
    """Rounds samples within [-1, 1] to 16 bits, [N] int16."""
    # 1.0 would be 32,768, one more than int16 has.
    return np.clip(np.rint(samples * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def framed(samples: np.ndarray, hop: int) -> np.ndarray:
    """Cuts samples into positions, [positions, hop] int16. Silence fills the last position."""
    row = np.zeros((-(-len(samples) // hop), hop), dtype=np.int16)
    row.reshape(-1)[: len(samples)] = samples
    return row


def resampled(samples: np.ndarray, rate: int, new_rate: int) -> np.ndarray:
    """Returns the samples of a whole sound at another rate."""
    rate, new_rate = ratio(rate, new_rate)
    return samples if rate == new_rate or not len(samples) else resampled_on(samples, None, True, rate, new_rate)[0]


def resampled_on(samples: np.ndarray, state: Any, complete: bool, rate: int, new_rate: int) -> tuple[np.ndarray, Any]:
    """Returns the next samples at another rate, and the state to go on from; see `resample_extend`."""
    import torch

    from mt.ops.sound import resample_extend

    tensor = torch.from_numpy(np.ascontiguousarray(samples, np.float32))
    resampled, state = resample_extend(tensor, state, complete=complete, rate=rate, new_rate=new_rate)
    return resampled.numpy(), state


def ratio(rate: int, new_rate: int) -> tuple[int, int]:
    """Returns two small rates with (nearly) the same ratio. Rates without a common divisor would need filters for many
    thousand phases."""
    if rate == new_rate:
        return 1, 1
    # 44,100 to 16,000 Hz is 441 to 160: the filter has a phase for each output of the ratio.
    shortened = Fraction(new_rate, rate).limit_denominator(1_000)
    return shortened.denominator, max(shortened.numerator, 1)


class ArrivingSound(Arriving):
    """Keeps samples until they make the positions that the front-end needs for its next vector."""

    def __init__(self, hop: int, needed: Callable[[np.ndarray], np.ndarray]) -> None:
        """
        Args:
            hop: samples of a position.
            needed: returns how many positions must have come for numbers of vectors.
        """
        self._hop = hop
        self._needed = needed
        self._waiting = np.zeros(0, np.int16)
        self._cut = self._vectors = 0

    def parts(self, data: Any) -> list[np.ndarray]:
        samples = quantised(mono(data))
        self._waiting = np.concatenate((self._waiting, samples)) if len(self._waiting) else samples
        # Cut a part for each vector, as long as there are enough samples.
        parts = []
        begin = 0
        while True:
            positions = int(self._needed(np.array(self._vectors + 1))) - self._cut
            end = begin + positions * self._hop
            if end > len(self._waiting):
                break
            parts.append(self._waiting[begin:end].reshape(positions, self._hop))
            begin = end
            self._cut += positions
            self._vectors += 1
        # A copy, since a view would keep all samples that were read.
        self._waiting = self._waiting[begin:].copy() if begin else self._waiting
        return parts

    def row(self, part: np.ndarray) -> np.ndarray:
        return part

    def mark_read(self, part: np.ndarray) -> None:
        self.read += _MILLISECONDS * len(part)

    def rest(self) -> np.ndarray | None:
        """Returns the samples that are left. Silence fills the last position."""
        # A sound without a sample is blank.
        if not self._cut and not len(self._waiting):
            return None
        row = framed(self._waiting, self._hop)
        self.read += _MILLISECONDS * len(row)
        return row


# The field.


class AudioConfig(Options):
    name: Literal["audio"] = "audio"
    rate: Annotated[int, "Hz"] = Option(16_000, ge=1_000, le=192_000)
    """Samples per second, to which all sound is resampled; a multiple of 100."""
    max_seconds: Annotated[float, "seconds"] = Option(30.0, gt=0, le=3_600)
    """The longest source: longer ones are dropped from train, and refused elsewhere."""

    @field_validator("rate")
    @classmethod
    def _has_whole_frames(cls, rate: int) -> int:
        if rate % FRAMES:
            raise UserError(
                f"dataset.field.rate={rate} has no whole number of samples in 10 ms: choose a multiple of {FRAMES}, "
                "such as 8000 or 16000"
            )
        return rate


class AudioField(ArrayField):
    """A row is [F, rate / 100] int16: one channel, with silence up to a whole position. A batch is [B, F, rate / 100]
    int16, padded with 0. A source is a file, or part of one, `name.flac#t=1.5,3.2` in seconds. Or it is samples at the
    field's rate, [N] or [N, channels]: integers of 16 bits or floating-point numbers within [-1, 1]."""

    Config: ClassVar[type[Options]] = AudioConfig
    milliseconds = _MILLISECONDS
    endings = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aiff", ".aif", ".au", ".caf", ".sph")

    def __init__(self, config: AudioConfig) -> None:
        hop = config.rate // FRAMES
        super().__init__(np.int16, (hop,), int(config.max_seconds * FRAMES) + 1)
        self._rate = config.rate
        self._hop = hop
        self._longest = config.max_seconds

    def labels(self, row: Row, positions: int, tokenizer: Tokenizer) -> list[str]:
        """Names each position by the second at which it begins."""
        step = len(row) / FRAMES / max(positions, 1)
        return [f"{step * position:.2f}" for position in range(positions)]

    def backdrop(self, row: Row, positions: int, source: Raw | None) -> Sound:
        import torch

        from mt.ops.sound import log_mel

        samples = torch.from_numpy(np.asarray(row).astype(np.float32)).view(1, -1) / FULL_SCALE
        energies, _ = log_mel(samples, torch.tensor([samples.shape[1]]), self._rate, _BANDS)
        return Sound(energies[0].numpy(), len(row) / FRAMES)

    def arriving(self, tokenizer: Tokenizer, unit: Unit, needed: Callable[[np.ndarray], np.ndarray]) -> ArrivingSound:
        """Accepts samples in the forms of `encode`, any number at a time."""
        return ArrivingSound(self._hop, needed)

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        """Reads a file of any length as if it arrived: yields its samples at the field's rate, about 10 ms at a time,
        [N] int16.

        At another rate, a piece is yielded once all samples that its filter needs were read. Raises SourceError where
        the file cannot be read, or breaks off.
        """
        with opened_recording(name) as sound:
            rate, new_rate = ratio(sound.rate, self._rate)
            # The filter is told which samples are the last, so one block is read ahead.
            state: Any = None
            size = -(-sound.rate // FRAMES)
            samples = sound.read(size)
            while len(samples):
                next_samples = sound.read(size)
                piece = mono(samples, name)
                if rate != new_rate:
                    piece, state = resampled_on(piece, state, not len(next_samples), rate, new_rate)
                yield quantised(piece)
                samples = next_samples

    def pcm(self, chunks: Iterable[bytes], name: str) -> Iterator[np.ndarray]:
        """Yields raw samples (16 bits, little-endian, one channel, the field's rate), [N] int16, at most 10 ms at a
        time. Raises SourceError where the chunks are a file with a header.

        chunks: bytes, cut anywhere; half a sample at the end is left out. name: their name in errors.
        """
        rest = b""
        size = 2 * self._hop
        begun = False
        for chunk in chunks:
            # Four bytes tell a file with a header from samples alone.
            rest += chunk
            if not begun and len(rest) >= 4:
                if kind := _HEADERS.get(rest[:4]):
                    raise SourceError(
                        f"{name} is a {kind} file, and not samples alone: give the file, or convert it to 16-bit "
                        f"little-endian samples of one channel, {self._rate:,} a second"
                    )
                begun = True
            # Whole samples, 10 ms at a time; half of one waits for the next chunk.
            whole = len(rest) // 2 * 2 if begun else 0
            for start in range(0, whole, size):
                yield np.frombuffer(rest[start : min(start + size, whole)], "<i2").astype(np.int16)
            rest = rest[whole:]
        yield np.frombuffer(rest[: len(rest) // 2 * 2], "<i2").astype(np.int16)

    def _row(self, source: Raw) -> np.ndarray:
        # Arrays have the field's rate; files are resampled.
        if isinstance(source, np.ndarray):
            rate = self._rate
            samples = mono(source)
            self._require_short("the sound", len(samples) / rate)
        else:
            name = named(source)
            with opened_recording(source) as sound:
                rate = sound.rate
                if sound.count is not None:
                    self._require_short(name, sound.count / rate)
                # Where the header has no length, one sample more than allowed shows that the sound is too long.
                samples = sound.read(int(self._longest * rate) + 1)
            if not len(samples):
                raise SourceError(f"{name} has no samples: expected a sound", "without sound")
            self._require_short(name, len(samples) / rate)
            samples = mono(samples, name)
        return framed(quantised(resampled(samples, rate, self._rate)), self._hop)

    def _require_short(self, name: str, seconds: float) -> None:
        if seconds > self._longest:
            raise SourceError(
                f"{name} has {seconds:,.1f} seconds, more than the {self._longest:g} of dataset.field.max_seconds: cut "
                "it into utterances, or raise that",
                f"longer than {self._longest:g} seconds (dataset.field.max_seconds)",
            )
