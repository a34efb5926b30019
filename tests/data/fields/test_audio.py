import io
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mt.data.fields import AudioConfig, AudioField, SourceError
from mt.errors import UserError

soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")

RATE = 8000


@pytest.fixture
def field() -> AudioField:
    return AudioField(AudioConfig(rate=RATE, max_seconds=2.0))


def tone(rate: int, seconds: float, hertz: float = 440.0) -> np.ndarray:
    return 0.5 * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)


def encoded(field: AudioField, source) -> np.ndarray:
    [row] = field.encode([source], None)
    return row


def refusal(field: AudioField, source) -> SourceError:
    with pytest.raises(SourceError) as refused:
        field.encode([source], None)
    return refused.value


@pytest.mark.parametrize("format", ["WAV", "FLAC"])
def test_samples_at_the_rate_are_kept_to_the_bit(field: AudioField, tmp_path: Path, format: str) -> None:
    samples = np.random.default_rng(0).integers(-(2**15), 2**15, 1234, dtype=np.int16)
    soundfile.write(tmp_path / "sound", samples, RATE, format=format)
    row = encoded(field, tmp_path / "sound")
    assert row.shape == (16, 80) and row.dtype == np.int16
    assert row.ravel()[:1234].tolist() == samples.tolist()
    assert not row.ravel()[1234:].any()
    assert np.array_equal(encoded(field, samples), row)


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 44_100, 44_099, 48_000, 96_000])
def test_any_rate_becomes_the_fields(field: AudioField, tmp_path: Path, rate: int) -> None:
    soundfile.write(tmp_path / "tone.wav", tone(rate, 1.0), rate)
    result = encoded(field, tmp_path / "tone.wav").ravel() / 2**15
    assert len(result) == pytest.approx(RATE, abs=80)
    inner = slice(400, 7600)
    np.testing.assert_allclose(result[inner], tone(RATE, 1.0)[inner], atol=0.01)


def test_several_channels_become_their_mean(field: AudioField, tmp_path: Path) -> None:
    both = np.stack([tone(RATE, 0.1), np.zeros(RATE // 10)], axis=1)
    soundfile.write(tmp_path / "both.wav", both, RATE, subtype="FLOAT")
    np.testing.assert_allclose(encoded(field, tmp_path / "both.wav").ravel() / 2**15, both[:, 0] / 2, atol=1e-4)
    np.testing.assert_allclose(encoded(field, both).ravel() / 2**15, both[:, 0] / 2, atol=1e-4)


def test_a_part_of_a_file(field: AudioField, tmp_path: Path) -> None:
    samples = np.arange(RATE, dtype=np.int16)
    soundfile.write(tmp_path / "long.flac", samples, RATE)
    assert encoded(field, f"{tmp_path}/long.flac#t=0.25,0.5").ravel().tolist() == list(range(2000, 4000))
    assert str(refusal(field, f"{tmp_path}/long.flac#t=0.5,9")) == (
        f"{tmp_path}/long.flac#t=0.5,9 is to be read from 0.5 to 9 seconds, but {tmp_path}/long.flac has 1.00 seconds"
    )


def test_bad_files_are_one_sentence(field: AudioField, tmp_path: Path) -> None:
    (tmp_path / "empty.wav").touch()
    (tmp_path / "text.wav").write_text("no sound at all")
    soundfile.write(tmp_path / "none.wav", np.zeros(0), RATE)
    soundfile.write(tmp_path / "long.wav", np.zeros(3 * RATE), RATE)
    buffer = io.BytesIO()
    soundfile.write(buffer, np.random.default_rng(0).normal(0, 0.1, RATE), RATE, format="FLAC")
    (tmp_path / "cut.flac").write_bytes(buffer.getvalue()[:4000])
    expected = {
        "empty.wav": ("is empty: expected a sound", "without sound"),
        "none.wav": ("has no samples: expected a sound", "without sound"),
        "long.wav": (
            "has 3.0 seconds, more than the 2 of dataset.field.max_seconds: cut it into utterances, or raise that",
            "longer than 2 seconds (dataset.field.max_seconds)",
        ),
        "text.wav": ("is no sound, or cut short (", None),
        "cut.flac": ("is no sound, or cut short (", None),
        "missing.wav": ("cannot be read (No such file or directory)", None),
    }
    for name, (sentence, reason) in expected.items():
        error = refusal(field, tmp_path / name)
        assert f"{error}".startswith(f"{tmp_path / name} {sentence}")
        assert error.reason == reason
        if name not in ("long.wav", "cut.flac"):
            with pytest.raises(SourceError, match=re.escape(f"{tmp_path / name} {sentence}")):
                next(field.pieces(str(tmp_path / name)))
    infinite = np.full(100, np.inf)
    assert str(refusal(field, infinite)).startswith("the sound has samples that are no finite numbers")
    assert str(refusal(field, np.zeros((2, 2, 2)))).startswith(
        "a sound of shape [2, 2, 2] and type float64 has another"
    )


@pytest.mark.parametrize(("rate", "channels"), [(RATE, 1), (44_100, 2), (11_025, 1)])
def test_pieces_of_a_file_are_the_file(field: AudioField, tmp_path: Path, rate: int, channels: int) -> None:
    """Of one that is longer than a source may be."""
    samples = np.random.default_rng(0).normal(0, 0.2, (rate * 3 + 17, channels)).clip(-1, 1)
    soundfile.write(tmp_path / "sound.wav", samples, rate)
    pieces = [*field.pieces(str(tmp_path / "sound.wav"))]
    assert all(piece.dtype == np.int16 and len(piece) <= RATE // 20 for piece in pieces)
    whole = AudioField(AudioConfig(rate=RATE, max_seconds=9.0)).encode([tmp_path / "sound.wav"], None)[0].ravel()
    result = np.concatenate(pieces)
    assert len(result) == -(-len(samples) * RATE // rate)
    assert np.abs(whole[: len(result)].astype(int) - result).max() <= 1
    (part,) = [np.concatenate([*field.pieces(f"{tmp_path}/sound.wav#t=0.5,1.5")])]
    assert abs(len(part) - RATE) <= 1


def test_raw_samples_cut_anywhere(field: AudioField) -> None:
    samples = np.random.default_rng(0).integers(-(2**15), 2**15, 1000, dtype=np.int16)
    raw = samples.astype("<i2").tobytes()
    draw = np.random.default_rng(1)
    for odd in (b"", b"x"):
        cuts = np.sort(draw.integers(0, len(raw), 30))
        chunks = [part.tobytes() for part in np.split(np.frombuffer(raw + odd, np.uint8), cuts)]
        pieces = [*field.pcm(chunks, "standard input")]
        assert np.array_equal(np.concatenate(pieces), samples) and max(map(len, pieces)) <= 80
    for chunks in ([], [b""], [b"x"]):
        assert not np.concatenate([*field.pcm(chunks, "standard input")]).size
    assert np.concatenate([*field.pcm([b"\1\0"], "standard input")]).tolist() == [1]
    with pytest.raises(SourceError) as refused:
        [*field.pcm([b"RI", b"FF\0\0\0\0WAVE"], "standard input")]
    assert str(refused.value) == (
        "standard input is a wav file, and not samples alone: give the file, or convert it to 16-bit little-endian "
        "samples of one channel, 8,000 a second"
    )


def test_a_bad_sample_arrives_no_further(field: AudioField, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "infinite.wav", np.array([0.1] * 200 + [np.inf]), RATE, subtype="FLOAT")
    pieces = field.pieces(str(tmp_path / "infinite.wav"))
    assert len([next(pieces), next(pieces)]) == 2
    with pytest.raises(SourceError, match=r"infinite\.wav has samples that are no finite numbers: record or"):
        next(pieces)


def test_a_column_keeps_rows_and_what_several_share(field: AudioField) -> None:
    rows = [np.full((2, 80), 1, np.int16), None, np.zeros((0, 80), np.int16), np.full((1, 80), 3, np.int16)]
    column = pa.chunked_array([field.array(rows[:3]), field.array(rows[3:])])
    assert column.type == field.arrow_type and column.null_count == 1
    assert field.lengths(column).tolist() == [2, 0, 0, 1]
    assert [row.shape for row in field.rows(column)] == [(2, 80), (0, 80), (0, 80), (1, 80)]
    assert np.array_equal(field.rows(column)[3], rows[3])
    assert [row.tolist() for row in field.rows(column.slice(3))] == [rows[3].tolist()]
    assert field.blank(rows[2]) and not field.blank(rows[3])


def test_labels_are_seconds(field: AudioField) -> None:
    assert field.labels(np.zeros((10, 80), np.int16), 3, None) == ["0.00", "0.03", "0.07"]
    described = field.describe(np.zeros((10, 80), np.int16), 3, None, "word", None)
    assert (described.units, [*described.arrivals()]) == ([0, 1, 2], 10 * [1])


def test_a_rate_without_whole_frames_is_refused() -> None:
    with pytest.raises(UserError, match=r"dataset.field.rate=22050 has no whole number of samples in 10 ms"):
        AudioConfig(rate=22_050)


def test_without_the_library_one_sentence_names_the_extra(field: AudioField, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "soundfile", None)
    with pytest.raises(
        UserError, match=r"^sound is read by soundfile, which is not installed: pip install 'attentive-mt\[speech\]'$"
    ):
        field.encode(["any.wav"], None)
