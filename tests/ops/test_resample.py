import random
from collections import Counter

import pytest
import torch

from mt.ops.sound import perturb_speed, resample, resample_extend


def tone(hertz: float, rate: int, seconds: float = 0.5) -> torch.Tensor:
    time = torch.arange(round(rate * seconds), dtype=torch.float64) / rate
    return (0.5 * torch.sin(2 * torch.pi * hertz * time)).float()


@pytest.mark.parametrize(
    ("rate", "new"), [(8_000, 16_000), (16_000, 8_000), (44_100, 16_000), (48_000, 16_000), (96_000, 16_000), (9, 10)]
)
def test_a_tone_is_the_same_tone_at_the_new_rate(rate: int, new: int):
    seconds = 0.5 if rate > 100 else 200.0
    hertz = 0.35 * min(rate, new)
    actual = resample(tone(hertz, rate, seconds), rate, new)
    expected = tone(hertz, new, seconds)
    assert len(actual) == len(expected)
    edge = len(actual) // 10  # where the filter reaches beyond the sound
    torch.testing.assert_close(actual[edge:-edge], expected[edge:-edge], atol=2e-3, rtol=0)


def test_what_is_too_high_for_the_new_rate_is_filtered_out():
    edge = 500
    assert resample(tone(5_000, 16_000), 16_000, 8_000)[edge:-edge].abs().max() < 1e-3
    assert resample(tone(3_400, 16_000), 16_000, 8_000)[edge:-edge].abs().max() > 0.49


@pytest.mark.parametrize(("rate", "new"), [(8_000, 16_000), (44_100, 16_000), (48_000, 8_000), (11_025, 8_000)])
@pytest.mark.parametrize("seed", range(3))
def test_pieces_of_a_sound_become_the_whole(rate: int, new: int, seed: int):
    draw = random.Random(seed)
    sound = torch.randn(draw.randint(1, 4000), generator=torch.Generator().manual_seed(seed))
    result = []
    state = None
    begin = 0
    while begin < len(sound):
        end = min(begin + draw.choice((0, 1, 13, 441, 999)), len(sound))
        part, state = resample_extend(sound[begin:end], state, complete=end == len(sound), rate=rate, new_rate=new)
        result.append(part)
        assert len(state.samples) < 1000 + 40 * max(rate / new, 1) * 16
        begin = end
    torch.testing.assert_close(torch.cat(result), resample(sound, rate, new), atol=1e-5, rtol=1e-4)


def test_a_constant_stays_and_lengths_are_rounded_up():
    for count in (1, 2, 99, 100, 101):
        assert len(resample(torch.ones(count), 44_100, 16_000)) == -(-count * 160 // 441)
    torch.testing.assert_close(resample(torch.ones(900), 44_100, 16_000)[80:-80], torch.ones(167), atol=1e-3, rtol=0)
    assert resample(torch.ones(0), 8_000, 16_000).shape == (0,)
    sound = tone(100, 8_000)
    assert torch.equal(resample(sound, 8_000, 8_000), sound)


def test_a_faster_sound_is_shorter_and_higher():
    sound = tone(200, 8_000, 1.0)
    for factor, length in ((0.9, 8889), (1.0, 8000), (1.1, 7273)):
        result = perturb_speed(sound, torch.Generator(), (factor,))
        assert len(result) == length
        assert torch.fft.rfft(result, 80_000).abs().argmax() == pytest.approx(2000 * factor, abs=1)


def test_speeds_are_equally_likely_and_follow_the_generator():
    sound = tone(200, 8_000, 0.1)
    generator = torch.Generator().manual_seed(3)
    counts = Counter(len(perturb_speed(sound, generator, (0.9, 1.0, 1.1))) for _ in range(600))
    assert set(counts) == {889, 800, 728} and min(counts.values()) > 150
    again = [perturb_speed(sound, torch.Generator().manual_seed(5), (0.9, 1.1)) for _ in range(2)]
    assert torch.equal(*again)
