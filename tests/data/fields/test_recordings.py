"""Sounds whose numbers, lengths or names are not what they seem."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from mt.data.fields import AudioConfig, AudioField, SourceError
from mt.data.fields.base import as_list

soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")

RATE = 8000
TONE = 0.5 * np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)


@pytest.fixture
def field() -> AudioField:
    return AudioField(AudioConfig(rate=RATE, max_seconds=2.0))


def encoded(field: AudioField, source) -> np.ndarray:
    [row] = field.encode([source], None)
    return row.ravel()


def refusal(field: AudioField, source) -> SourceError:
    with pytest.raises(SourceError) as refused:
        field.encode([source], None)
    return refused.value


@pytest.mark.parametrize("kind", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_every_size_of_sample_is_scaled_by_its_range(field: AudioField, tmp_path: Path, kind: str) -> None:
    soundfile.write(tmp_path / "tone.wav", TONE, RATE, subtype=kind)
    np.testing.assert_allclose(encoded(field, tmp_path / "tone.wav") / 2**15, TONE, atol=0.01)


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE"])
def test_floating_point_samples_in_the_range_of_integers_are_refused(
    field: AudioField, tmp_path: Path, kind: str
) -> None:
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
    assert encoded(field, tmp_path / "loud.wav").max() == 2**15 - 1


def test_given_samples_have_a_scale_of_their_own(field: AudioField) -> None:
    whole = encoded(field, (TONE * 2**15).astype(np.int16))
    for given in ((TONE * 2**15).astype(">i2"), TONE, TONE.astype(np.float32), torch.from_numpy(TONE)):
        assert np.abs(encoded(field, given).astype(int) - whole).max() <= 1
    assert np.abs(encoded(field, TONE.astype(np.float16)).astype(int) - whole).max() <= 8
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
    whole = encoded(field, unsaid.with_name("said.flac"))
    assert np.array_equal(encoded(field, unsaid), whole)
    assert np.array_equal(encoded(field, unsaid.read_bytes()), whole)
    assert np.array_equal(np.concatenate([*field.pieces(str(unsaid))]), whole)
    assert np.array_equal(encoded(field, f"{unsaid}#t=0.25,0.5"), whole[2000:4000])
    assert np.array_equal(encoded(field, f"{unsaid}#t=0.9,1.4"), whole[7200:])
    short = AudioField(AudioConfig(rate=RATE, max_seconds=0.5))
    assert refusal(short, unsaid).reason == "longer than 0.5 seconds (dataset.field.max_seconds)"
    assert "a second that" in str(refusal(field, f"{unsaid}#t=5,6"))
    assert "is cut short" in str(refusal(field, f"{unsaid}#t=0.5,1.9"))


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
    assert len(encoded(field, tmp_path / "open.wav")) == RATE


def test_raw_samples_have_no_header(field: AudioField, tmp_path: Path) -> None:
    for name in ("tone.raw", "tone.RAW"):
        (tmp_path / name).write_bytes(TONE.astype("<f4").tobytes())
        assert str(refusal(field, tmp_path / name)).startswith(
            f"{tmp_path / name} is named as samples without a header"
        )


@pytest.mark.parametrize("span", ["-1,2", "nan,2", "0,inf", "0,1e3", "1", "", ",1", "a,b", "0x1,2", "1;2"])
def test_a_span_without_two_numbers_is_refused(field: AudioField, tmp_path: Path, span: str) -> None:
    soundfile.write(tmp_path / "tone.wav", TONE, RATE)
    assert str(refusal(field, f"{tmp_path}/tone.wav#t={span}")).startswith(
        f"{tmp_path}/tone.wav#t={span} does not say seconds as #t=BEGIN,END: expected two numbers from 0 on, as in tone"
    )


def test_a_span_ends_after_it_begins(field: AudioField, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "tone.wav", TONE, RATE)
    for span in ("0.5,0.2", "0.5,0.5"):
        assert "is to be read up to a second that is not after" in str(refusal(field, f"{tmp_path}/tone.wav#t={span}"))


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
