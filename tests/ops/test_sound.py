"""Log-mel energies: the oracle is kaldi-native-fbank, Kaldi's own code."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from mt.ops.sound import FLOOR, LogMelState, frame_size, log_mel, log_mel_extend
from tests.marks import combined

RATES = (8_000, 11_025, 16_000, 22_050, 44_100, 48_000)


def kaldi(samples: Tensor, rate: int, bands: int = 80) -> Tensor:
    """[S, D]. Its samples are integers of 16 bits, in whatever type."""
    knf = pytest.importorskip("kaldi_native_fbank", reason="kaldi-native-fbank is in the extra `test`")
    options = knf.FbankOptions()
    options.frame_opts.samp_freq = rate
    options.frame_opts.dither = 0
    options.frame_opts.snip_edges = False
    options.mel_opts.num_bins = bands
    fbank = knf.OnlineFbank(options)
    fbank.accept_waveform(rate, (samples * 2**15).tolist())
    fbank.input_finished()
    frames = [fbank.get_frame(i) for i in range(fbank.num_frames_ready)]
    return torch.from_numpy(np.array(frames, dtype=np.float32).reshape(-1, bands))


def speech(seed: int, rate: int, seconds: float) -> Tensor:
    """A voice that glides, with harmonics, pauses, noise and an offset, in 16 bits."""
    draw = np.random.default_rng(seed)
    time = np.arange(round(rate * seconds)) / rate
    pitch = 2 * np.pi * np.cumsum(120 + 40 * np.sin(5 * time + seed)) / rate
    voice = sum(np.sin(n * pitch) / n for n in range(1, int(rate / 2 / 160)))
    loudness = 0.1 * np.maximum(0, np.sin(9 * time)) ** 2
    sound = loudness * voice + 0.003 * draw.standard_normal(len(time)) + 0.01
    return torch.from_numpy((np.round(sound * 2**15) / 2**15).astype(np.float32))


def alone(samples: Tensor, rate: int, bands: int = 80) -> Tensor:
    features, counts = log_mel(samples[None], torch.tensor([len(samples)]), rate, bands)
    assert counts.tolist() == [features.shape[1]]
    return features[0]


@combined(bands=[80, 23], rate=RATES)
def test_as_kaldi_has_it(rate: int, bands: int):
    sound = speech(bands, rate, 1.0)
    ours = alone(sound, rate, bands)
    theirs = kaldi(sound, rate, bands)
    assert ours.shape == theirs.shape == (100, bands)
    assert ours.std() > 1
    torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=0)


@combined(milliseconds=[0, 3, 5, 7, 12, 20, 26, 33, 61], rate=RATES)
def test_short_sounds_are_reflected_as_kaldi_does(rate: int, milliseconds: int):
    sound = speech(milliseconds, rate, milliseconds / 1000)
    torch.testing.assert_close(alone(sound, rate), kaldi(sound, rate), atol=1e-3, rtol=0)


def test_silence_is_the_floor():
    assert alone(torch.zeros(800), 16_000).unique().tolist() == pytest.approx([np.log(FLOOR)])
    torch.testing.assert_close(alone(torch.zeros(800), 16_000), kaldi(torch.zeros(800), 16_000))


def test_neither_padding_nor_neighbours_change_a_sound():
    sounds = [speech(seed, 16_000, seconds) for seed, seconds in enumerate((0.5, 0.004, 1.0, 0.013, 0.0, 0.77))]
    batch = torch.full((6, 20_000), torch.nan)
    for row, sound in zip(batch, sounds, strict=True):
        row[: len(sound)] = sound
    lengths = torch.tensor([len(sound) for sound in sounds])
    features, counts = log_mel(batch, lengths, 16_000)
    assert counts.tolist() == [50, 0, 100, 1, 0, 77]
    for row, count, sound in zip(features, counts, sounds, strict=True):
        torch.testing.assert_close(row[:count], alone(sound, 16_000), atol=1e-4, rtol=0)
        assert not row[count:].any()
    assert log_mel(batch[4:5], lengths[4:5], 16_000)[0].shape == (1, 0, 80)
    assert log_mel(batch[:0], lengths[:0], 16_000)[0].shape == (0, 0, 80)


@combined(milliseconds=[0, 4, 11, 40, 700], rate=[8_000, 11_025, 16_000])
def test_a_stream_gives_the_same_frames_however_it_is_cut(rate: int, milliseconds: int):
    sound = speech(3, rate, milliseconds / 1000)
    whole = alone(sound, rate)
    draw = np.random.default_rng(milliseconds)
    for pieces in (1, 2, 9, 60):
        cuts = [0, *sorted(draw.integers(0, len(sound) + 1, pieces - 1).tolist()), len(sound)]
        state: LogMelState | None = None
        parts = []
        for n, (start, end) in enumerate(pairwise(cuts), start=1):
            part, state = log_mel_extend(sound[start:end], state, complete=n == pieces, rate=rate)
            parts.append(part)
            assert len(state.samples) <= max(end - start, 0) + 3 * frame_size(rate)[0], "it keeps what it needs"
        torch.testing.assert_close(torch.cat(parts), whole, atol=1e-4, rtol=0)


def test_a_frame_of_a_stream_comes_when_its_samples_are_there():
    sound = speech(5, 16_000, 1.0)
    whole = alone(sound, 16_000)
    for arrived in (0, 279, 280, 439, 440, 8000):
        part, state = log_mel_extend(sound[:arrived], None, complete=False, rate=16_000)
        # Frame f covers the samples up to 160 f + 280.
        assert len(part) == max(0, (arrived - 280) // 160 + 1)
        torch.testing.assert_close(part, whole[: len(part)], atol=1e-4, rtol=0)
        rest, _ = log_mel_extend(torch.zeros(500), state, complete=False, rate=16_000)
        assert len(rest)
