"""The sound of Morse code, by numpy alone."""

import numpy as np

from data_prep.generated.morse.sending import Sending

RATE = 4_000
"""Samples per second."""
_EDGE = 0.005
"""Seconds in which the tone rises and falls, so that it does not click."""
_PITCH_DRIFT = 0.02
"""Most that the pitch differs from its mean, as a share."""
_BAND = 2_000.0
"""Hz that noise is measured in."""
_LOUDNESS = 0.2
"""Amplitude of the tone before it fades; noise of 0 dB reaches 1 at seven standard deviations."""


def render(source: str, rate: int = RATE) -> np.ndarray:
    """Returns the sound of a sending, [samples] float32 in [-1, 1]: a pure function of its arguments.

    source: `str` of the sending. rate: samples per second, at least 2,000.
    """
    sending = Sending.of(source)
    rng = np.random.default_rng([sending.seed, 1])
    keying = sending.keyed()
    time = np.arange(round(rate * keying.duration)) / rate
    drift = 1 + _PITCH_DRIFT * _wave(time, rng, 4, 12)
    tone = np.sin(2 * np.pi * np.cumsum(sending.hertz * drift) / rate)
    strength = 1 - sending.fading * (1 + _wave(time, rng, 1.5, 6)) / 2
    power = _LOUDNESS**2 / 2 / 10 ** (sending.decibels / 10) * (rate / 2 / _BAND)
    noise = np.sqrt(power) * rng.standard_normal(len(time))
    return np.clip(_LOUDNESS * _envelope(keying.marks, time) * strength * tone + noise, -1, 1).astype(np.float32)


def _wave(time: np.ndarray, rng: np.random.Generator, shortest: float, longest: float) -> np.ndarray:
    """Draws a sine of some period, in seconds, and any phase."""
    period = rng.uniform(shortest, longest)
    phase = rng.uniform(0, 2 * np.pi)
    return np.sin(2 * np.pi * time / period + phase)


def _envelope(marks: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Returns 1 within marks and 0 outside, with cosine edges inside of each mark."""
    if not len(marks):
        return np.zeros_like(time)
    last = np.searchsorted(marks[:, 0], time, side="right") - 1
    begin, end = marks[np.maximum(last, 0)].T
    depth = np.where(last >= 0, np.minimum(time - begin, end - time), 0.0)
    return (1 - np.cos(np.pi * np.clip(depth / _EDGE, 0, 1))) / 2
