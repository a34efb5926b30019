"""Sound: samples at one rate, of which every 10 ms are a position."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field as Option, field_validator

from mt.data.fields.arrays import ArrayField
from mt.data.fields.base import Raw, Row, SourceError
from mt.data.tokenizer import Tokenizer
from mt.errors import UserError
from mt.parsing import Options

if TYPE_CHECKING:
    from torch import Tensor

FRAMES = 100
"""Positions in a second."""
FULL_SCALE = 1 << 15
_EXTRA = "sound is read by soundfile, which is not installed: pip install 'mt[speech]'"
_SPAN = re.compile(r"#t=(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)$")
"""Part of a sound, in seconds (W3C Media Fragments URI 1.0, section 4.2.1)."""


class AudioConfig(Options):
    name: Literal["audio"] = "audio"
    rate: int = Option(16_000, ge=1_000, le=192_000)
    """Samples per second, to which all sound is resampled; a multiple of 100."""
    max_seconds: float = Option(30.0, gt=0, le=3_600)
    """Of one source: longer ones are dropped from train, and refused elsewhere."""

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
    """A row is [F, rate / 100] int16, one channel, silence up to a whole position; a batch is [B, F, rate / 100] int16,
    padded with 0. A source is a file, or part of one, `name.flac#t=1.5,3.2` in seconds; or samples at the field's rate,
    [N] or [N, channels], integers of 16 bits or floating-point numbers within [-1, 1]."""

    Config: ClassVar[type[Options]] = AudioConfig
    endings = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aiff", ".aif", ".au")

    def __init__(self, config: AudioConfig) -> None:
        hop = config.rate // FRAMES
        super().__init__(np.int16, (hop,), int(config.max_seconds * FRAMES) + 1)
        self._rate = config.rate
        self._hop = hop
        self._longest = config.max_seconds

    def collate(self, rows: Sequence[Row]) -> tuple[Tensor, Tensor]:
        import torch  # Not above: the processes that prepare sound would wait for it.

        lengths = torch.tensor([len(row) for row in rows])
        padded = np.zeros((len(rows), int(lengths.max()), self._hop), dtype=np.int16)
        for line, row in zip(padded, rows, strict=True):
            line[: len(row)] = row
        return torch.from_numpy(padded), torch.arange(padded.shape[1]) < lengths[:, None]

    def labels(self, row: Row, positions: int, tokenizer: Tokenizer) -> list[str]:
        """The second at which each position begins."""
        step = len(row) / FRAMES / max(positions, 1)
        return [f"{step * position:.2f}" for position in range(positions)]

    def _row(self, source: Raw) -> np.ndarray:
        if isinstance(source, np.ndarray):
            name, samples, rate = "the sound", source, self._rate
            if source.ndim not in (1, 2) or source.dtype.kind not in "if":
                raise SourceError(
                    f"a sound of shape {list(source.shape)} and type {source.dtype} has another form than [samples] or "
                    "[samples, channels] of int16 or floating-point numbers"
                )
            if source.dtype.kind == "i":
                samples = source.astype(np.float32) / FULL_SCALE
            self._require_short(name, len(samples) / rate)
        else:
            name = str(source)
            samples, rate = self._read(name)
        if samples.ndim == 2:
            samples = samples.mean(axis=1)
        if not np.isfinite(samples).all():
            raise SourceError(f"{name} has samples that are no finite numbers: record or convert it again")
        samples = np.clip(np.rint(_resampled(samples, rate, self._rate) * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1)
        row = np.zeros((-(-len(samples) // self._hop), self._hop), dtype=np.int16)
        row.reshape(-1)[: len(samples)] = samples
        return row

    def _read(self, name: str) -> tuple[np.ndarray, int]:
        """The samples [N, channels] of a file or a part of it, float32 within [-1, 1], and its rate."""
        try:
            import soundfile
        except ImportError as error:
            raise UserError(_EXTRA) from error
        span = _SPAN.search(name)
        path = Path(name[: span.start()] if span else name)
        try:
            if path.stat().st_size == 0:
                raise SourceError(f"{path} is empty: expected a sound", "without sound")
            with soundfile.SoundFile(path) as file:
                rate, start, count = file.samplerate, 0, file.frames
                if span:
                    begin, end = (float(second) for second in span.groups())
                    if not begin < end <= count / rate + 0.5:
                        raise SourceError(
                            f"{name} is to be read from {begin:g} to {end:g} seconds, but {path} has "
                            f"{count / rate:.2f} seconds"
                        )
                    start = int(begin * rate)
                    count = min(round(end * rate), count) - start
                if count <= 0:
                    raise SourceError(f"{name} has no samples: expected a sound", "without sound")
                self._require_short(name, count / rate)
                file.seek(start)
                samples = file.read(count, dtype="float32", always_2d=True)
        except OSError as error:
            raise SourceError(f"{path} cannot be read ({error.strerror or error})") from error
        except soundfile.SoundFileError as error:
            raise SourceError(
                f"{path} is no sound, or cut short ({_reason(error)}): expected wav, flac, ogg or another format that "
                "libsndfile reads"
            ) from error
        if len(samples) < count:
            raise SourceError(f"{name} is cut short: it has {len(samples):,} of {count:,} samples; copy it again")
        return samples, rate

    def _require_short(self, name: str, seconds: float) -> None:
        if seconds > self._longest:
            raise SourceError(
                f"{name} has {seconds:,.1f} seconds, more than the {self._longest:g} of dataset.field.max_seconds: cut "
                "it into utterances, or raise that",
                f"longer than {self._longest:g} seconds (dataset.field.max_seconds)",
            )


def _resampled(samples: np.ndarray, rate: int, new_rate: int) -> np.ndarray:
    if rate == new_rate or not len(samples):
        return samples
    import torch

    from mt.ops.resample import resample

    # Two rates without a common divisor would need a filter for each of many thousand phases.
    ratio = Fraction(new_rate, rate).limit_denominator(1_000)
    numerator = max(ratio.numerator, 1)
    return resample(torch.from_numpy(np.ascontiguousarray(samples, np.float32)), ratio.denominator, numerator).numpy()


def _reason(error: Any) -> str:
    return str(getattr(error, "error_string", error)).rstrip(". ")
