import numpy as np
import pytest

from data_prep.generated.morse import RATE, render
from data_prep.generated.morse.sending import Sending

PLAIN = Sending("PARIS PARIS", wpm=20.0, hertz=600, decibels=60.0, fading=0.0, seed=5)


def loudness(samples: np.ndarray, rate: int, window: float = 0.01) -> np.ndarray:
    """Root mean square over a window around each sample."""
    width = round(rate * window)
    return np.sqrt(np.convolve(samples.astype(float) ** 2, np.ones(width) / width, mode="same"))


@pytest.mark.parametrize("rate", [RATE, 8_000, 16_000])
def test_the_tone_is_heard_while_the_key_is_down(rate: int):
    samples = render(str(PLAIN), rate)
    keying = PLAIN.keyed()
    assert samples.dtype == np.float32 and len(samples) == round(rate * keying.duration)
    loud = loudness(samples, rate) > 0.07
    time = np.arange(len(samples)) / rate
    down = ((time[:, None] > keying.marks[:, 0]) & (time[:, None] < keying.marks[:, 1])).any(1)
    assert (loud == down).mean() > 0.95
    assert np.abs(samples).max() <= 0.25


def test_the_pitch_is_that_of_the_sending_and_drifts():
    samples = render(str(PLAIN), 16_000)
    keying = PLAIN.keyed()
    result = []
    for begin, end in keying.marks:
        if end - begin > 0.15:
            mark = samples[round(16_000 * begin) : round(16_000 * end)]
            result.append(np.abs(np.fft.rfft(mark * np.hanning(len(mark)), 1 << 17)).argmax() * 16_000 / (1 << 17))
    assert np.abs(np.array(result) / 600 - 1).max() < 0.025
    assert np.ptp(result) > 3


@pytest.mark.parametrize("rate", [RATE, 16_000])
@pytest.mark.parametrize("decibels", [0.0, 10.0, 20.0])
def test_noise_is_as_far_below_the_tone_as_is_said(decibels: float, rate: int):
    sending = PLAIN._replace(decibels=decibels)
    noise = render(str(sending), rate).astype(float) - render(str(sending._replace(decibels=200.0)), rate)
    in_band = noise.var() * 2_000 / (rate / 2)
    assert 10 * np.log10(0.2**2 / 2 / in_band) == pytest.approx(decibels, abs=0.3)


def test_fading_takes_away_its_share():
    faded = PLAIN._replace(fading=0.6, text="PARIS PARIS PARIS")
    peaks = []
    samples = render(str(faded), 16_000)
    keying = faded.keyed()
    for begin, end in keying.marks:
        peaks.append(np.abs(samples[round(16_000 * begin) : round(16_000 * end)]).max() / 0.2)
    assert min(peaks) == pytest.approx(0.4, abs=0.1) and max(peaks) == pytest.approx(1, abs=0.1)


def test_what_is_no_sending_is_refused():
    with pytest.raises(ValueError, match="is not what `str` gives"):
        render("PARIS")
