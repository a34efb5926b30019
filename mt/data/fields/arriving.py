"""Sources that a caller gives, whole or while they arrive.

First comes what the Python API accepts (`as_list`, `require_texts`). Then samples of sound become one channel at the
rate of a model. Last, `Arriving` cuts a growing source into parts: words of a text, or stretches of a sound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeGuard

import numpy as np

from mt.data.fields.base import Raw, Row, SourceError
from mt.data.tokenizer import EOS, UNK, Tokenizer, Unit
from mt.errors import UserError
from mt.text_io import is_blank

# The inputs of the Python API: one source or text, or any iterable of them.

_LISTING = "OSTU"
"""Kinds of NumPy's types that hold texts or other objects; arrays of numbers are samples or pixels."""


def as_list(inputs: Raw | Iterable[Raw]) -> tuple[list[Raw], bool]:
    """Returns the inputs as a list, and whether there was a single one instead of an iterable.

    An iterable is a list, a generator, a view of a dictionary, an array of texts, or anything else that can be gone
    through, once. An array of numbers, also of another library, is one input.
    """
    if isinstance(inputs, np.ndarray) and inputs.dtype.kind in _LISTING:
        inputs = inputs.tolist()
    if isinstance(inputs, Raw) or _is_tensor(inputs) or not isinstance(inputs, Iterable):
        return [inputs], True
    return list(inputs), False


def _is_tensor(inputs: object) -> TypeGuard[np.ndarray]:
    """Returns whether these are numbers in an array of another library, as torch's; one of texts is gone through."""
    kind = getattr(getattr(inputs, "dtype", None), "kind", "")
    return hasattr(inputs, "__array__") and (kind == "" or kind not in _LISTING)


def require_texts(inputs: Iterable[object], name: str = "text") -> None:
    """Raises UserError where one is no text, or one that UTF-8 cannot write.

    name: what to call them, numbered from 1.
    """
    for number, text in enumerate(inputs, start=1):
        if not isinstance(text, str):
            raise UserError(f"{name} {number} is {_kind(text)}, and this is for text: give a str, or a list of them")
        require_writable(text, f"{name} {number}")


def require_writable(text: str, name: str) -> None:
    """Raises UserError where UTF-8 cannot write the text. name: what to call it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"{name} holds half of a character ({ascii(text[error.start])[1:-1]}), as of bytes that were read as "
            "something else: give what the bytes say in their own encoding"
        ) from None


def _kind(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


# Samples of sound as numbers: one channel, 16 bits, at another rate.

FULL_SCALE = 1 << 15


_LOUDEST = 2.0
"""Bound of floating-point samples: a decoder or a mixture exceeds 1 now and then, and is clipped there."""
_CHANNELS = 32
"""More are no sound: samples and channels are exchanged."""


def mono(source: Any, name: str = "the sound") -> np.ndarray:
    """Returns the mean of the channels, [N] floating-point numbers. Raises SourceError where they are no sound."""
    # The form: samples, or samples of several channels.
    if not _is_sound(source):
        array = isinstance(source, np.ndarray)
        form = (
            f"of shape {list(source.shape)} and type {source.dtype}" if array else f"given as {type(source).__name__}"
        )
        raise SourceError(
            f"a sound {form} has another form than [samples] or [samples, channels] of int16 or floating-point numbers"
        )
    # The numbers: finite, and about within -1 and 1.
    samples = source.astype(np.float32) / FULL_SCALE if source.dtype.kind == "i" else source
    peak = float(np.abs(samples).max()) if samples.size else 0.0
    if not np.isfinite(peak):
        raise SourceError(f"{name} has samples that are no finite numbers: record or convert it again")
    if peak > _LOUDEST:
        raise SourceError(
            f"{name} has floating-point samples up to {peak:,.6g}, which lie within -1 and 1: divide them by their "
            f"full scale, such as {FULL_SCALE}, or write int16"
        )
    return samples.mean(axis=1) if samples.ndim == 2 else samples


def _is_sound(source: Any) -> bool:
    """Returns whether the form of an array is that of a sound. Integers of other sizes than 16 bits have no scale of
    their own. Their origin decides whether they are as large as their type allows."""
    if not isinstance(source, np.ndarray) or source.ndim not in (1, 2):
        return False
    typed = source.dtype.kind == "f" or (source.dtype.kind == "i" and source.dtype.itemsize == 2)
    return typed and (source.ndim == 1 or 1 <= source.shape[1] <= _CHANNELS)


def quantised(samples: np.ndarray) -> np.ndarray:
    """Rounds samples within [-1, 1] to 16 bits, [N] int16."""
    return np.clip(np.rint(samples * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def framed(samples: np.ndarray, hop: int) -> np.ndarray:
    """Cuts samples into positions, [positions, hop] int16, with silence up to a whole one."""
    row = np.zeros((-(-len(samples) // hop), hop), dtype=np.int16)
    row.reshape(-1)[: len(samples)] = samples
    return row


def resampled(samples: np.ndarray, rate: int, new_rate: int) -> np.ndarray:
    """Returns the samples of a whole sound at another rate."""
    if rate == new_rate or not len(samples):
        return samples
    import torch

    from mt.ops.sound import resample

    return resample(torch.from_numpy(np.ascontiguousarray(samples, np.float32)), *ratio(rate, new_rate)).numpy()


def resampled_on(samples: np.ndarray, state: Any, complete: bool, rate: int, new_rate: int) -> tuple[np.ndarray, Any]:
    """Returns the next samples at another rate, and the state to go on from; see `resample_extend`."""
    import torch

    from mt.ops.sound import resample_extend

    tensor = torch.from_numpy(np.ascontiguousarray(samples, np.float32))
    resampled, state = resample_extend(tensor, state, complete=complete, rate=rate, new_rate=new_rate)
    return resampled.numpy(), state


def ratio(rate: int, new_rate: int) -> tuple[int, int]:
    """Returns two small rates of (nearly) the same ratio: rates without a common divisor would need a filter for each
    of many thousand phases."""
    if rate == new_rate:
        return 1, 1
    shortened = Fraction(new_rate, rate).limit_denominator(1_000)
    return shortened.denominator, max(shortened.numerator, 1)


# Sources that are still arriving, cut into parts: words of a text, stretches of a sound.


class Arriving(ABC):
    """One source that comes bit by bit. However it is cut on its way, its parts are the same."""

    read = 0
    """How much of it was read: words, or milliseconds of sound."""

    @abstractmethod
    def parts(self, data: Any) -> Sequence[Any]:
        """Returns what is complete with `data`: each part is to be read before the next. Raises UserError where that is
        no source."""

    @abstractmethod
    def row(self, part: Any) -> Row:
        """Returns the positions of a part, which may be none."""

    @abstractmethod
    def mark_read(self, part: Any) -> str | None:
        """Notes that a part is read; returns what to call it in a record, None where it has no name."""

    @abstractmethod
    def unreported(self) -> str | None:
        """Names all that was read since this was asked last, where parts have no names; None: nothing was."""

    @abstractmethod
    def rest(self) -> Row | None:
        """Returns the last positions, which are read with the end: of text EOS. None of a blank source."""


class ArrivingText(Arriving):
    """Cuts words, or the characters of a model of characters, as `Tokenizer.encode` cuts the whole text. Nothing that
    follows could change the cut."""

    def __init__(self, tokenizer: Tokenizer, unit: Unit) -> None:
        self._tokenizer = tokenizer
        self._unit = unit
        self._blank = True
        self._held: list[int] = []  # ids of parts that show nothing, with which alone a text is blank
        self._last: int | None = None  # the id before, inside of a word of which characters have come

    def parts(self, data: Any) -> list[str]:
        """Returns the words of a text or of several, or their characters, among them blanks, which end words."""
        parts: list[str] = []
        for text in as_list(data)[0]:
            if not isinstance(text, str):
                raise UserError(f"this model reads text, not {type(text).__name__}: give it words")
            require_writable(text, "the text")
            parts += text.split() if self._unit == "word" else text
        return parts

    def row(self, part: str) -> list[int]:
        """Returns the ids of one of `parts`; none of a blank, nor of an unknown character after another.

        The ids of parts that show nothing come with those of the first that shows something."""
        ids = self._tokenizer.encode_word(part) if self._unit == "word" else self._character(part)
        if self._blank and is_blank(part):
            self._held += ids
            return []
        ids = [*self._held, *ids]
        self._held = []
        self._blank = self._blank and not ids
        return ids

    def _character(self, part: str) -> list[int]:
        if part.isspace():
            self._last = None
            return []
        begins_word = self._last is None
        ids = self._tokenizer.encode_word(part) if begins_word else self._tokenizer.encode_character(part)
        if ids == [UNK] == [self._last]:  # unknown characters in a row are one token
            return []
        self._last = ids[-1] if ids else self._last
        return ids

    def mark_read(self, part: str) -> str | None:
        if part.isspace():
            return None
        self.read += 1
        return part

    def unreported(self) -> None:
        return None

    def rest(self) -> list[int] | None:
        return None if self._blank else [EOS]


class ArrivingSound(Arriving):
    """Keeps samples until they are as many positions as the next vector of the front-end needs."""

    def __init__(
        self, hop: int, milliseconds: int, needed: Callable[[int], int], samples: Callable[[Any], np.ndarray]
    ) -> None:
        """hop: samples of a position; milliseconds: of a position. needed: how many positions must have come for so
        many vectors. samples: makes [N] int16 of what comes."""
        self._hop = hop
        self._milliseconds = milliseconds
        self._needed = needed
        self._samples = samples
        self._waiting = np.zeros(0, np.int16)
        self._cut = self._vectors = self._reported = 0

    def parts(self, data: Any) -> list[np.ndarray]:
        samples = self._samples(data)
        self._waiting = np.concatenate((self._waiting, samples)) if len(self._waiting) else samples
        parts = []
        begin = 0
        while True:
            positions = self._needed(self._vectors + 1) - self._cut
            end = begin + positions * self._hop
            if end > len(self._waiting):
                break
            parts.append(self._waiting[begin:end].reshape(positions, self._hop))
            begin = end
            self._cut += positions
            self._vectors += 1
        self._waiting = self._waiting[begin:].copy() if begin else self._waiting
        return parts

    def row(self, part: np.ndarray) -> np.ndarray:
        return part

    def mark_read(self, part: np.ndarray) -> None:
        self.read += self._milliseconds * len(part)

    def unreported(self) -> str | None:
        """Names the second up to which it was read."""
        if self.read == self._reported:
            return None
        self._reported = self.read
        return f"{self.read / 1000:.2f}"

    def rest(self) -> np.ndarray | None:
        """Returns the samples that are left, with silence up to a whole position."""
        if not self._cut and not len(self._waiting):
            return None
        row = framed(self._waiting, self._hop)
        self.read += self._milliseconds * len(row)
        return row
