import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from mt.data.fields import AudioConfig, AudioField, SourceError
from mt.data.fields.base import as_list
from tests.refusals.sentences import require_refusal

soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")

RATE = 8000


@pytest.fixture
def field() -> AudioField:
    return AudioField(AudioConfig(rate=RATE, max_seconds=2.0))


def tone(rate: int, seconds: float, hertz: float = 440.0) -> np.ndarray:
    return 0.5 * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)


TONE = tone(RATE, 1.0)


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
    (tmp_path / "page.mp3").write_text("<!DOCTYPE html><html><body>404</body></html>")
    soundfile.write(tmp_path / "none.wav", np.zeros(0), RATE)
    soundfile.write(tmp_path / "long.wav", np.zeros(3 * RATE), RATE)
    buffer = io.BytesIO()
    soundfile.write(buffer, np.random.default_rng(0).normal(0, 0.1, RATE), RATE, format="FLAC")
    (tmp_path / "cut.flac").write_bytes(buffer.getvalue()[:4000])
    expected = {
        "empty.wav": ("is empty: expected a sound", "without sound"),
        "none.wav": ("has no samples: expected a sound", "without sound"),
        "long.wav": ("has 3.0 seconds, more than the 2 of data", "longer than 2 seconds (dataset.field.max_seconds)"),
        "text.wav": ("is no sound, or cut short (", None),
        "page.mp3": ("is no sound, or cut short (no frame of an mp3): expected wav, flac", None),
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
    assert str(refusal(field, np.zeros((2, 2, 2)))).startswith("a sound of shape [2, 2, 2] and type float64 has")


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
    with pytest.raises(
        SourceError,
        match=r"^standard input is a wav file, and not samples alone: give the file, or convert it to 16-bit little",
    ):
        [*field.pcm([b"RI", b"FF\0\0\0\0WAVE"], "standard input")]


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
    assert [row.shape for row in field.rows(column)[range(4)]] == [(2, 80), (0, 80), (0, 80), (1, 80)]
    assert [row.tolist() for row in field.rows(column)[[3, 0]]] == [rows[3].tolist(), rows[0].tolist()]
    assert [row.tolist() for row in field.rows(column.slice(3))[[0]]] == [rows[3].tolist()]
    assert field.blank(rows[2]) and not field.blank(rows[3])


def test_labels_are_seconds(field: AudioField) -> None:
    assert field.labels(np.zeros((10, 80), np.int16), 3, None) == ["0.00", "0.03", "0.07"]
    described = field.describe(np.zeros((10, 80), np.int16), 3, None, "word", None)
    assert ([*described.units()], [*described.arrivals()]) == ([0, 1, 2], 10 * [1])


def test_a_rate_without_whole_frames_is_refused() -> None:
    require_refusal(
        lambda: AudioConfig(rate=22_050), "dataset.field.rate=22050 has no whole number of samples in 10 ms"
    )


# Sounds whose numbers, lengths or names are not what they seem.
@pytest.mark.parametrize("kind", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_every_size_of_sample_is_scaled_by_its_range(field: AudioField, tmp_path: Path, kind: str) -> None:
    soundfile.write(tmp_path / "tone.wav", TONE, RATE, subtype=kind)
    np.testing.assert_allclose(encoded(field, tmp_path / "tone.wav").ravel() / 2**15, TONE, atol=0.01)


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE"])
def test_floating_point_samples_in_the_range_of_integers_are_refused(field, tmp_path, kind):
    soundfile.write(tmp_path / "tone.wav", TONE * 2**15, RATE, subtype=kind)
    sentence = "has floating-point samples up to 16,384, which lie within -1 and 1: divide them by their full scale"
    assert str(refusal(field, tmp_path / "tone.wav")).startswith(f"{tmp_path}/tone.wav {sentence}")
    with pytest.raises(SourceError, match=sentence):
        [*field.pieces(str(tmp_path / "tone.wav"))]
    assert sentence in str(refusal(field, TONE * 2**15))
    arriving = field.arriving(None, "word", lambda count: count)
    with pytest.raises(SourceError, match=sentence):
        arriving.parts(np.full(9, 16_384.0))
    soundfile.write(tmp_path / "loud.wav", TONE * 3, RATE, subtype=kind)
    assert encoded(field, tmp_path / "loud.wav").ravel().max() == 2**15 - 1


def test_given_samples_have_a_scale_of_their_own(field: AudioField) -> None:
    whole = encoded(field, (TONE * 2**15).astype(np.int16)).ravel()
    for given in ((TONE * 2**15).astype(">i2"), TONE, TONE.astype(np.float32), torch.from_numpy(TONE)):
        assert np.abs(encoded(field, given).ravel().astype(int) - whole).max() <= 1
    assert np.abs(encoded(field, TONE.astype(np.float16)).ravel().astype(int) - whole).max() <= 8
    for given in (TONE.astype(np.int32), TONE.astype(np.int64), TONE.astype(np.uint8), TONE > 0, TONE[None]):
        assert "has another form than [samples] or [samples, channels] of int16" in str(refusal(field, given))
    assert str(refusal(field, object())).startswith("a source given as object is neither")


@pytest.fixture
def unsaid(tmp_path: Path) -> Path:
    """A FLAC whose header has no count of samples."""
    soundfile.write(tmp_path / "unsaid.flac", TONE, RATE)
    content = bytearray((tmp_path / "unsaid.flac").read_bytes())
    content[21] &= 0xF0
    content[22:26] = bytes(4)
    (tmp_path / "unsaid.flac").write_bytes(content)
    return tmp_path / "unsaid.flac"


def test_a_sound_that_does_not_say_its_length_is_read_to_its_end(field: AudioField, unsaid: Path) -> None:
    soundfile.write(unsaid.with_name("said.flac"), TONE, RATE)
    whole = encoded(field, unsaid.with_name("said.flac")).ravel()
    assert np.array_equal(encoded(field, unsaid).ravel(), whole)
    assert np.array_equal(encoded(field, unsaid.read_bytes()).ravel(), whole)
    assert np.array_equal(np.concatenate([*field.pieces(str(unsaid))]), whole)
    assert np.array_equal(encoded(field, f"{unsaid}#t=0.25,0.5").ravel(), whole[2000:4000])
    assert np.array_equal(encoded(field, f"{unsaid}#t=0.9,1.4").ravel(), whole[7200:])
    short = AudioField(AudioConfig(rate=RATE, max_seconds=0.5))
    assert refusal(short, unsaid).reason == "longer than 0.5 seconds (dataset.field.max_seconds)"
    assert "a second that" in str(refusal(field, f"{unsaid}#t=5,6"))
    assert "is cut short" in str(refusal(field, f"{unsaid}#t=0.5,1.9"))


@pytest.fixture
def variable(tmp_path: Path) -> Path:
    """An MP3 whose bit rate changes, with a count of its frames. A frame may need bytes of those before it."""
    noise = np.random.default_rng(0).normal(0, 0.3, 3 * 16_000).clip(-1, 1)
    samples = np.concatenate([np.zeros(2 * 16_000), noise, np.zeros(3 * 16_000), tone(16_000, 2.0)])
    soundfile.write(tmp_path / "variable.mp3", samples, 16_000, bitrate_mode="VARIABLE", compression_level=0.5)
    return tmp_path / "variable.mp3"


def test_a_part_of_an_mp3_and_its_pieces_are_those_of_the_whole(variable: Path) -> None:
    field = AudioField(AudioConfig(rate=16_000))
    whole = encoded(field, variable).ravel()
    assert len(whole) == 160_000
    assert np.array_equal(np.concatenate([*field.pieces(str(variable))]), whole)
    for begin, end in ((0.5, 2.5), (2.0, 3.0), (8.5, 9.5)):
        part = encoded(field, f"{variable}#t={begin},{end}").ravel()
        assert np.abs(whole[int(begin * 16_000) : int(end * 16_000)].astype(int) - part).max() <= 1


def test_an_mp3_without_a_count_of_its_frames_is_read_to_its_end(variable: Path) -> None:
    """libsndfile takes it for one of 2 seconds, and others for much longer ones."""
    content = variable.read_bytes()
    assert content.count(b"Xing") == 1
    variable.write_bytes(content.replace(b"Xing", bytes(4)))
    field = AudioField(AudioConfig(rate=16_000, max_seconds=11.0))
    whole = encoded(field, variable).ravel()
    assert 160_000 <= len(whole) <= 163_000, "encoders add a few frames"
    assert np.array_equal(encoded(field, variable.read_bytes()).ravel(), whole)
    assert np.array_equal(encoded(field, f"{variable}#t=8.5,9.5").ravel(), whole[136_000:152_000])
    assert "a second that" in str(refusal(field, f"{variable}#t=12,13"))


@pytest.mark.parametrize("size", [0, 4000])
def test_a_wav_that_was_never_closed_is_refused(field: AudioField, tmp_path: Path, size: int) -> None:
    soundfile.write(tmp_path / "open.wav", TONE, RATE)
    content = bytearray((tmp_path / "open.wav").read_bytes())
    place = content.index(b"data") + 4
    content[place : place + 4] = size.to_bytes(4, "little")
    (tmp_path / "open.wav").write_bytes(content)
    assert "has bytes after the end that its header gives its samples" in str(refusal(field, tmp_path / "open.wav"))
    content[place : place + 4] = b"\xff\xff\xff\xff"  # of a stream
    (tmp_path / "open.wav").write_bytes(content)
    assert len(encoded(field, tmp_path / "open.wav").ravel()) == RATE


def test_raw_samples_have_no_header(field: AudioField, tmp_path: Path) -> None:
    for name in ("tone.raw", "tone.RAW"):
        (tmp_path / name).write_bytes(TONE.astype("<f4").tobytes())
        assert str(refusal(field, tmp_path / name)).startswith(f"{tmp_path / name} is named as samples without a")


def test_a_span_is_two_numbers_of_which_the_second_comes_after_the_first(field: AudioField, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "tone.wav", TONE, RATE)
    form = "does not say seconds as #t=BEGIN,END: expected two numbers from 0 on, as in tone"
    order = "is to be read up to a second that is not after"
    spans = dict.fromkeys(("-1,2", "nan,2", "0,inf", "0,1e3", "1", "", ",1", "a,b", "0x1,2", "1;2"), form)
    for span, sentence in (spans | dict.fromkeys(("0.5,0.2", "0.5,0.5"), order)).items():
        source = f"{tmp_path}/tone.wav#t={span}"
        assert str(refusal(field, source)).startswith(f"{source} {sentence}")


def test_what_the_library_writes_itself_is_kept_back(tmp_path: Path) -> None:
    """To the standard error of the process, below Python."""
    soundfile.write(tmp_path / "tone.mp3", TONE, RATE)
    whole = (tmp_path / "tone.mp3").read_bytes()
    (tmp_path / "cut.mp3").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "junk.mp3").write_bytes(whole[:200] + whole[900:])
    program = """
import sys
from mt.data.fields import AudioConfig, AudioField, SourceError
for name in ("cut", "junk"):
    for source in (f"{sys.argv[1]}/{name}.mp3", open(f"{sys.argv[1]}/{name}.mp3", "rb").read()):
        try:
            AudioField(AudioConfig(rate=8000)).encode([source], None)
        except SourceError as error:
            print(error)
print("end", file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert done.stderr == "end\n" and len(done.stdout.splitlines()) == 4


def test_a_tensor_is_one_sound() -> None:
    tone = torch.from_numpy(TONE)
    assert as_list(tone)[1] and as_list(tone)[0][0] is tone and as_list([tone, tone]) == ([tone, tone], False)
