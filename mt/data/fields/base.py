"""The interface of fields: how one side of a corpus is read, stored, measured, made into batches, and labelled.

`Raw` is a source as a caller gives it, `Row` what a model reads of it. `ReadSource` is what a translation says of its
source, and `Arriving` one that comes bit by bit. `Field` is the interface, and `ArrayField` those without text. Last
come the inputs that the Python API accepts.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mt.common.backdrop import Backdrop
from mt.common.options import Options
from mt.data.arrow import numbers
from mt.data.tokenizer import LinkUnit, Tokenizer, Unit
from mt.errors import UserError

if TYPE_CHECKING:  # preparation, which stores fields, would wait for torch
    from torch import Tensor

Raw = str | Path | bytes | np.ndarray
"""A source as the caller passes it: a text, or of a sound or picture the path, the bytes of the file, samples or
pixels."""
Row = Sequence[int] | np.ndarray
"""The part of one example that a model reads."""
_VALUES = 1 << 28
"""Most values of a shard, about: 0.5 GB of sound."""


class SourceError(UserError):
    """A file that cannot be read as what it should be.

    `reason` says why training can do without it, where it can: a pair that cleaning drops.
    """

    def __init__(self, sentence: str, reason: str | None = None) -> None:
        super().__init__(sentence, reason)
        self.reason = reason
        self.source: str | None = None
        """Its name in the corpus, where it belongs to one."""

    def __str__(self) -> str:
        return str(self.args[0])


class ReadSource(NamedTuple):
    """A source as alignments and delays see it."""

    labels: Sequence[str]
    """What each place is called."""
    units: Callable[[], Sequence[int | None]]
    """Returns which unit, as a word, each place belongs to; None for none."""
    arrivals: Callable[[], Sequence[int] | np.ndarray]
    """Returns the positions of each of the parts, such as words, in which a source arrives."""
    length: int
    """Its positions, as its field counts them: a model may make fewer of them, which `labels` names."""
    part: int = 1
    """The length of such a part in delays: 1 where it is a word, else its milliseconds."""
    backdrop: Callable[[], Backdrop | None] | None = None
    """Makes what its attention is drawn on; None for a table."""


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
    def mark_read(self, part: Any) -> None:
        """Counts a part as read."""

    @abstractmethod
    def rest(self) -> Row | None:
        """Returns the last positions, which are read with the end: of text EOS. None of a blank source."""


class Field(ABC):
    """One side of the examples of a corpus, made of its options alone.

    A row is one example's. `tokenizer` is that of the side where the field is text, and is not used by others.
    """

    Config: ClassVar[type[Options]]
    batch_dtype: ClassVar[type[np.generic] | None] = None
    """The type of a batch; None: that of rows."""
    written: ClassVar[bool] = False
    """Whether it is text: it has words to count, and a vocabulary."""
    endings: ClassVar[tuple[str, ...]] = ()
    """The endings of the names of files that are each a source."""
    milliseconds: ClassVar[int | None] = None
    """The length of a position, in which delays are counted then; None where sources have no time."""
    shard_size: int | None = None
    """Most examples that are prepared at a time; None leaves it to their characters."""

    def __init__(self, dtype: type[np.generic], shape: tuple[int, ...] = ()) -> None:
        """dtype: of rows. shape: that of one position."""
        self._dtype = dtype
        self._shape = shape
        self._size = int(np.prod(shape))
        self.arrow_type = pa.list_(pa.from_numpy_dtype(dtype))
        """The type of its column in a prepared corpus."""

    @abstractmethod
    def encode(self, sources: Sequence[Raw], tokenizer: Tokenizer | None) -> Sequence[Row]:
        """Returns the rows of the sources. Raises `SourceError` where one cannot be read. tokenizer: None if no
        text."""

    def require_readable(self, source: Raw) -> None:
        """Raises `SourceError` where `encode` would for a source that is no text, with as little work as that takes."""
        self.encode([source], None)

    @abstractmethod
    def column(self, sources: Sequence[str], tokenizer: Tokenizer | None, opened: Callable[[str], Raw]) -> pa.Array:
        """Returns the rows of a corpus' sources as a column, where null is the row of the example before.

        opened: returns what `encode` reads for a source. Raises `SourceError`, with its `source`, where one cannot be
        read.
        """

    def lengths(self, column: pa.ChunkedArray) -> np.ndarray:
        """Returns the positions of each row, by which batches are made, [N] int64; 0 for null."""
        lengths = pc.list_value_length(column)
        if lengths.null_count:  # else pyarrow would load pandas for nothing
            lengths = pc.fill_null(lengths, 0)
        return numbers(lengths).astype(np.int64) // self._size

    def length(self, row: Row) -> int:
        """Counts the positions of a row."""
        return len(row)

    def require_sizes(self, counts: pa.ChunkedArray) -> None:
        """Raises ValueError where rows do not have so many numbers, null apart, as whole positions have."""
        if (numbers(counts.drop_null()) % self._size).any():
            raise ValueError("source_ids has a part of a position")

    def rows(self, column: pa.ChunkedArray) -> list[np.ndarray]:
        """Returns the rows of a column, each [positions, ...]."""
        rows: list[np.ndarray] = []
        for chunk in column.chunks:
            values = numbers(chunk.values)
            offsets = numbers(chunk.offsets)
            rows += [values[start:end].reshape(-1, *self._shape) for start, end in itertools.pairwise(offsets)]
        return rows

    def collate(self, rows: Sequence[Row]) -> tuple[Tensor, Tensor]:
        """Returns the rows as one tensor [B, S, ...], padded with 0 on the right, and the mask [B, S] bool of real
        positions."""
        import torch  # Not above: the processes that prepare sources would wait for it.

        lengths = np.array([len(row) for row in rows])
        padded = np.zeros((len(rows), lengths.max(), *self._shape), self.batch_dtype or self._dtype)
        for line, row in zip(padded, rows, strict=True):
            line[: len(row)] = row
        return torch.from_numpy(padded), torch.from_numpy(np.arange(padded.shape[1]) < lengths[:, None])

    @abstractmethod
    def labels(self, row: Row, positions: int, tokenizer: Tokenizer) -> list[str]:
        """Returns what to write in a picture beside each position that a model has made of a row."""

    def units(self, positions: int, tokenizer: Tokenizer, unit: LinkUnit, source: Raw) -> list[int | None]:
        """Returns which unit, such as a word, each of these positions belongs to, None for none; the default is a unit
        each.

        source: what the caller passed.
        """
        return [*range(positions)]

    def describe(
        self, row: Row, positions: int, tokenizer: Tokenizer, unit: LinkUnit, source: Raw | None
    ) -> ReadSource:
        """Returns a source as alignments and delays see it; in the default each position arrives alone.

        source: what the caller passed; None where that is not known, and the row has to say it.
        """
        labels = self.labels(row, positions, tokenizer)
        length = self.length(row)
        arrivals = functools.partial(np.ones, length, np.int64)
        drawn = functools.partial(self.backdrop, row, positions, source)
        return ReadSource(labels, functools.partial(range, positions), arrivals, length, self.milliseconds or 1, drawn)

    def backdrop(self, row: Row, positions: int, source: Raw | None) -> Backdrop | None:
        """Returns what attention to the positions of a row is drawn on; None for a table of `labels`. source: as in
        `describe`."""
        return None

    def arriving(self, tokenizer: Tokenizer, unit: Unit, needed: Callable[[int], int]) -> Arriving:
        """Returns a source that arrives part by part. unit: the parts of a text. needed: how many positions must have
        come for so many vectors, see `Frontend.needed`. Raises UserError where its sources cannot arrive so."""
        raise UserError("a stream is of text or of sound, and this model reads neither: translate whole files")

    def blank(self, row: Row) -> bool:
        """Returns whether a row holds nothing to translate."""
        return len(row) == 0


class ArrayField(Field):
    """Rows are stored flat, as they are; what several successive examples share is stored once."""

    def __init__(self, dtype: type[np.generic], shape: tuple[int, ...], longest: int) -> None:
        """
        Args:
            dtype, shape: see `Field`.
            longest: the most positions of a row.
        """
        super().__init__(dtype, shape)
        self.shard_size = max(1, _VALUES // (longest * self._size))

    def column(self, sources: Sequence[str], tokenizer: Tokenizer | None, opened: Callable[[str], Raw]) -> pa.ListArray:
        source_before: str | None = None
        rows: list[np.ndarray | None] = []
        for source in sources:
            try:
                rows += [None] if source == source_before else self.encode([opened(source)], tokenizer)
            except SourceError as error:
                error.source = source
                raise
            source_before = source
        return self.array(rows)

    def array(self, rows: Sequence[Row | None]) -> pa.ListArray:
        """Returns rows as a column, in which null, for None, stands for the row before."""
        known = [np.asarray(row, self._dtype).ravel() for row in rows if row is not None]
        absent = np.array([row is None for row in rows], dtype=bool)
        sizes = np.zeros(len(rows) + 1, dtype=np.int32)
        sizes[1:][~absent] = [len(row) for row in known]
        values = np.concatenate(known) if known else np.zeros(0, self._dtype)
        return pa.ListArray.from_arrays(pa.array(np.cumsum(sizes, dtype=np.int32)), values, mask=pa.array(absent))

    def encode(self, sources: Sequence[Raw], tokenizer: Tokenizer | None) -> list[np.ndarray]:
        """Returns the rows of the sources; that of a blank string has no positions. An array may be of any library that
        NumPy reads, as a tensor."""
        nothing = np.zeros((0, *self._shape), dtype=self._dtype)
        blank = (isinstance(source, str) and not source.strip() for source in sources)
        return [nothing if empty else self._row(_raw(source)) for source, empty in zip(sources, blank, strict=True)]

    @abstractmethod
    def _row(self, source: Raw) -> np.ndarray:
        """Reads one source, and returns its row, [positions, ...]. Raises SourceError where it cannot be read."""


def _raw(source: Any) -> Raw:
    """Returns a source in one of the forms of `Raw`. Raises SourceError where it has none of them."""
    if isinstance(source, Raw):
        return source
    if hasattr(source, "__array__"):
        with contextlib.suppress(TypeError, RuntimeError):  # of a tensor on another device, or of bfloat16
            return np.asarray(source)
    raise SourceError(
        f"a source given as {type(source).__name__} is neither a path, nor the bytes of a file, nor an array in main "
        "memory: give one of them"
    )


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
            kind = "None" if text is None else f"of type {type(text).__name__}"
            raise UserError(f"{name} {number} is {kind}, and this is for text: give a str, or a list of them")
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
