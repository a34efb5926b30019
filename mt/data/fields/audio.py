"""Sound: samples at one rate, of which every 10 ms are a position.

`AudioField` reads whole files or arrays, and makes batches and drawings of them. `pieces` reads a file bit by bit, and
`pcm` raw samples, for translation while a sound arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field as Option, field_validator

from mt.common.backdrop import Sound
from mt.common.options import Options
from mt.data.fields.arrays import ArrayField
from mt.data.fields.arriving import FULL_SCALE, ArrivingSound, framed, mono, quantised, ratio, resampled, resampled_on
from mt.data.fields.base import Raw, Row, SourceError
from mt.data.fields.recordings import named, opened_recording
from mt.data.tokenizer import Tokenizer, Unit
from mt.errors import UserError

FRAMES = 100
"""Positions in a second."""
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


class AudioConfig(Options):
    name: Literal["audio"] = "audio"
    rate: int = Option(16_000, ge=1_000, le=192_000)
    """Samples per second, to which all sound is resampled; a multiple of 100."""
    max_seconds: float = Option(30.0, gt=0, le=3_600)
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
    milliseconds = 1000 // FRAMES
    endings = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aiff", ".aif", ".au")

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

    def arriving(self, tokenizer: Tokenizer, unit: Unit, needed: Callable[[int], int]) -> ArrivingSound:
        """Takes samples, in the forms of `encode`, of any number at a time."""
        return ArrivingSound(self._hop, self.milliseconds, needed, lambda samples: quantised(mono(samples)))

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        """Reads a file of any length as if it arrived: yields its samples at the field's rate, about 10 ms at a time,
        [N] int16.

        A piece is there when what its filter reaches of another rate was read. Raises SourceError where the file cannot
        be read, or no further.
        """
        with opened_recording(name) as sound:
            rate, new_rate = ratio(sound.rate, self._rate)
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
        """Yields raw samples (16 bits, little-endian, one channel, the field's rate), [N] int16, 10 ms at a time or
        what has come. chunks: cut anywhere; half a sample at the end is left out. name: what to call them in an error.

        Raises SourceError where they are a file with a header.
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
        if isinstance(source, np.ndarray):
            name = "the sound"
            rate = self._rate
            samples = mono(source, name)
            self._require_short(name, len(samples) / rate)
        else:
            name = named(source)
            with opened_recording(source) as sound:
                rate = sound.rate
                if sound.count is not None:
                    self._require_short(name, sound.count / rate)
                # One that does not say how long it is shows by a sample that it is too long.
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
