"""Reads sound files, or some seconds of them, by libsndfile.

`opened_recording` opens a file, finds the span in its name (`_wanted`), and yields a `Recording`, which is read piece
by piece. The other functions refuse files that libsndfile would read wrongly.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mt.common.about import required
from mt.data.fields.base import SourceError

_MARK = "#t="
_SPAN = re.compile(rf"{_MARK}([0-9]+(?:\.[0-9]+)?),([0-9]+(?:\.[0-9]+)?)$")
"""The seconds of a part of a sound (W3C Media Fragments URI 1.0, section 4.2.1)."""
_PADDING = 4096
"""The most bytes after the last chunk of a wav file, with which some tools fill a block."""
_UNKNOWN = 1 << 40
"""libsndfile reports at least this many samples where a file does not have its length."""
_COUNT = re.compile(rb"(Xing|Info)\0\0\0[\x01-\x0f]")
"""The head of the count of frames that most encoders write into the first frame of an mp3."""
_NO_FRAMES = "File does not exist or is not a regular file (possibly a pipe?)"
"""What libsndfile says of a file that is named as an mp3, and is none."""
_BEGINNING = 1 << 20
"""Bytes of an mp3 in which the count is looked for. Tags and a picture may come before it."""
_BLOCK = 1 << 16
"""Samples that are skipped at once."""
_SLACK = 0.5
"""The most seconds by which a span may end after the sound."""


class Recording:
    """An open sound, positioned at the first sample to read."""

    def __init__(self, file: Any, name: str, count: int | None, early: int = 0) -> None:
        """
        Args:
            count: see `count`.
            early: how many samples may be missing at the end.
        """
        self._file = file
        self._name = name
        self._early = early
        self.rate = int(file.samplerate)
        """Samples of a channel in a second."""
        self.count = count
        """Samples to read; None for the whole of a file without a length."""
        self._read = 0

    def read(self, most: int) -> np.ndarray:
        """Returns the next samples, [N, channels] float32: `most` of them or, at the end, fewer.

        Raises SourceError where the sound ends too early.
        """
        # A file without a length is read to its end, any other one to the last wanted sample.
        size = most if self.count is None else min(most, self.count - self._read)
        with _silent(self._file.format == "MP3"):
            samples = self._file.read(size, dtype="float32", always_2d=True)
        self._read += len(samples)
        if self.count is not None and len(samples) < size and self._read + self._early < self.count:
            raise SourceError(
                f"{self._name} is cut short: it has {self._read:,} of {self.count:,} samples; copy it again"
            )
        return np.asarray(samples)


@contextlib.contextmanager
def opened_recording(source: str | Path | bytes) -> Iterator[Recording]:
    """Opens a file, or the bytes of one. `name.flac#t=1.5,3.2` means these seconds of the file.

    Raises SourceError, also from within the body, where it cannot be read.
    """
    with required("sound is read by soundfile", "speech"):
        import soundfile
    name = named(source)
    path, span = _parted(name)
    # First refuse what libsndfile would read wrongly, or refuse with words that do not help.
    try:
        size = len(source) if isinstance(source, bytes) else os.stat(path).st_size
        if size == 0:
            raise SourceError(f"{path} is empty: expected a sound", "without sound")
        if path.lower().endswith(".raw"):
            raise SourceError(
                f"{path} is named as samples without a header, whose rate and form it does not say: convert it to wav "
                "or flac"
            )
        opened = io.BytesIO(source) if isinstance(source, bytes) else path
        # The caller reads inside, so that its errors become sentences here, too.
        with _file(soundfile.SoundFile, opened) as file:
            if _start(opened) == b"RIFF":
                _require_true_length(opened, path, size)
            yield _wanted(file, name, path, span)
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror or error})") from error
    except soundfile.SoundFileError as error:
        reason = str(getattr(error, "error_string", error)).replace(_NO_FRAMES, "no frame of an mp3").rstrip(". ")
        raise SourceError(
            f"{path} is no sound, or cut short ({reason}): expected wav, flac, ogg or another format that "
            "libsndfile reads"
        ) from error


def named(source: str | Path | bytes) -> str:
    """Returns the name of a source in errors."""
    return "the sound" if isinstance(source, bytes) else str(source)


def _parted(name: str) -> tuple[str, tuple[float, float] | None]:
    # The name may end in seconds; a mark without two numbers is a mistake, unless a file has that name.
    if span := _SPAN.search(name):
        return name[: span.start()], (float(span[1]), float(span[2]))
    path, mark, rest = name.rpartition(_MARK)
    if mark and not os.path.exists(name) and "/" not in rest:
        raise SourceError(
            f"{name} does not say seconds as {_MARK}BEGIN,END: expected two numbers from 0 on, as in "
            f"{os.path.basename(path)}{_MARK}1.5,3.2"
        )
    return name, None


def _file(kind: Any, source: io.BytesIO | str) -> Any:
    # mpg123 writes warnings to standard error while it opens a file.
    with _silent(_start(source).startswith((b"ID3", b"\xff")) or str(source).lower().endswith(".mp3")):
        file = kind(source)
        if file.format == "MP3":
            with _content(source) as content:
                beginning = content.read(_BEGINNING)
                if not _COUNT.search(beginning):
                    file.close()
                    file = kind(_Endless(beginning + content.read()))
    # soundfile seeks after each read, which fails in a file without a length, and damages what is read next of an mp3
    # with a variable bit rate. So it is told not to.
    file.seekable = lambda: False
    return file


class _Endless(io.BytesIO):
    """A file that seems to be much longer than it is. The length of an mp3 without a count of its frames is guessed by
    the size of the file and its first frame, and libsndfile reads no further than that."""

    def seek(self, place: int, whence: int = os.SEEK_SET, /) -> int:
        return super().seek(place + (_UNKNOWN << 4) * ((place, whence) == (0, os.SEEK_END)), whence)


def _wanted(file: Any, name: str, path: str, span: tuple[float, float] | None) -> Recording:
    # The samples of the span, where the sound is long enough or has no length; else those of the whole file.
    rate = file.samplerate
    whole = file.frames
    is_known = whole < _UNKNOWN
    start = 0
    count = whole if is_known else None
    if span is not None:
        begin, end = span
        if not begin < end:
            raise SourceError(
                f"{name} is to be read up to a second that is not after its first: exchange or correct them"
            )
        if end > whole / rate + _SLACK:
            raise SourceError(
                f"{name} is to be read from {begin:g} to {end:g} seconds, but {path} has {whole / rate:.2f} seconds"
            )
        start = int(begin * rate)
        count = min(round(end * rate), whole) - start
    if count is not None and count <= 0:
        raise SourceError(f"{name} has no samples: expected a sound", "without sound")
    # The reader begins at the first sample that is wanted. What comes before it is read and thrown away, a second at
    # the most, which a decoder of mp3 needs; or all of it in a file without a length, which cannot seek.
    with _silent(file.format == "MP3"):
        if is_known and start > rate:
            file.seek(start - rate)
            start = rate
        while start > 0 and (passed := len(file.read(min(start, _BLOCK), dtype="float32"))):
            start -= passed
    if start > 0:
        raise SourceError(f"{name} is to be read from a second that {path} does not reach: correct the span")
    return Recording(file, name, count, early=0 if is_known else round(_SLACK * rate))


def _require_true_length(source: io.BytesIO | str, path: str, size: int) -> None:
    """Raises SourceError where a wav file goes on after the end that its header gives, because its writer was stopped
    or could not correct the header. Where the header gives too many samples, the sound was cut short, and is read."""
    # Go from chunk to chunk, and see where the last one ends.
    with _content(source) as file:
        place = 12  # after RIFF, a size and WAVE
        samples = 0
        while place + 8 <= size:
            file.seek(place)
            kind, length = struct.unpack("<4sI", file.read(8))
            # No name of a chunk: these are samples, behind the end that the header gives.
            if not kind.isascii() or not kind.decode().isprintable():
                break
            # A chunk has a name and a size before it, and fills an even number of bytes.
            place += 8 + length + length % 2
            samples += length * (kind == b"data")
    if place + (_PADDING if samples else 0) >= size:
        return
    raise SourceError(
        f"{path} has bytes after the end that its header gives its samples, as if the recording was never closed: "
        "convert it, as with sox --ignore-length"
    )


def _start(source: io.BytesIO | str) -> bytes:
    with _content(source) as file:
        return file.read(4)


def _content(source: io.BytesIO | str) -> BinaryIO:
    """Opens the bytes of a source from their beginning, wherever another reader of them is."""
    return io.BytesIO(source.getvalue()) if isinstance(source, io.BytesIO) else open(source, "rb")


@contextlib.contextmanager
def _silent(needed: bool) -> Iterator[None]:
    """Hides what mpg123 writes to standard error. Errors are raised with a sentence of our own."""
    if not needed:
        yield
        return
    try:
        original = os.dup(2)
    except OSError:  # it is closed
        yield
        return
    # The library writes to descriptor 2, whatever sys.stderr is.
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(original, 2)
        os.close(original)
