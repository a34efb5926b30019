"""The interface of fields: how one side of a corpus is read, stored, measured, made into batches, and labelled.

`Raw` is a source as a caller passes it, and a `Row` is the model's input made from it. `ReadSource` describes a source
for alignments and delays. `Arriving` is a source that comes bit by bit. `Field` is the interface, and `ArrayField` the
base of sound and pictures. Last come the inputs that the Python API accepts.
"""

from __future__ import annotations

import contextlib
import functools
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
"""The model's input of one source: ids, samples or pixels."""
_VALUES = 1 << 28
"""About the most values of a shard: 0.5 GB of sound."""


class SourceError(UserError):
    """An error for a file that cannot be read as a source.

    `reason` is set where the file is only unfit for training; then cleaning drops the pair for this reason.
    """

    def __init__(self, sentence: str, reason: str | None = None) -> None:
        super().__init__(sentence, reason)
        self.reason = reason
        self.source: str | None = None
        """The source's name in the corpus, where it belongs to one."""

    def __str__(self) -> str:
        return str(self.args[0])


class ReadSource(NamedTuple):
    """A source as alignments and delays see it."""

    labels: Sequence[str]
    """The label of each position."""
    units: Callable[[], Sequence[int | None]]
    """Returns the number of the unit, such as a word, to which each position belongs; None for a position without
    one."""
    arrivals: Callable[[], Sequence[int] | np.ndarray]
    """Returns the number of positions of each part, such as a word, in which a source arrives."""
    length: int
    """The number of positions by the count of the field. An encoder may leave fewer, which have the `labels`."""
    part: int = 1
    """The length of a part in delays: 1 for a word, else milliseconds."""
    backdrop: Callable[[], Backdrop | None] | None = None
    """Makes the picture on which attention is drawn; None for a table."""


class Arriving(ABC):
    """One source that comes bit by bit. Its parts do not depend on how it is cut on its way."""

    read = 0
    """How much of the source was read: words, or milliseconds of sound."""

    @abstractmethod
    def parts(self, data: Any) -> Sequence[Any]:
        """Returns the parts that `data` completes, in the order in which to read them. Raises UserError where `data` is
        no source."""

    @abstractmethod
    def row(self, part: Any) -> Row:
        """Returns the row of a part, which may be empty."""

    @abstractmethod
    def mark_read(self, part: Any) -> None:
        """Counts a part as read."""

    @abstractmethod
    def rest(self) -> Row | None:
        """Returns the row of the end, such as EOS of a text; None for a blank source."""


class Column:
    """Gives rows of a column of lists by their numbers, as views of its memory, which may be a file's."""

    def __init__(self, column: pa.ChunkedArray, shape: tuple[int, ...] = ()) -> None:
        """shape: of one position."""
        # The values of a slice are those of the whole array, into which its offsets point.
        self._chunks = [(numbers(chunk.values), numbers(chunk.offsets)) for chunk in column.chunks]
        self._starts = np.cumsum([0, *map(len, column.chunks)])
        self._shape = shape

    def __getitem__(self, indices: Sequence[int] | np.ndarray) -> list[np.ndarray]:
        """Returns some rows, each [positions, ...]."""
        # The chunk of each row, and its place there.
        indices = np.asarray(indices, dtype=np.int64)
        chunks = np.searchsorted(self._starts, indices, side="right") - 1
        rows = []
        for chunk, place in zip(chunks.tolist(), (indices - self._starts[chunks]).tolist(), strict=True):
            values, offsets = self._chunks[chunk]
            rows.append(values[offsets[place] : offsets[place + 1]].reshape(-1, *self._shape))
        return rows


class Field(ABC):
    """One side of the examples of a corpus, built from its options alone.

    A row belongs to one example. `tokenizer` is that of the side; only text uses it.
    """

    Config: ClassVar[type[Options]]
    batch_dtype: ClassVar[type[np.generic] | None] = None
    """The type of a batch; None: the type of rows."""
    written: ClassVar[bool] = False
    """Whether the field is text, with words to count and a vocabulary."""
    endings: ClassVar[tuple[str, ...]] = ()
    """The endings of files that are one source each."""
    milliseconds: ClassVar[int | None] = None
    """The length of a position, for delays in milliseconds; None where sources have no time."""
    shard_size: int | None = None
    """The most examples of a shard in preparation; None: their characters decide."""

    def __init__(self, dtype: type[np.generic], shape: tuple[int, ...] = ()) -> None:
        """dtype: the type of rows. shape: the shape of one position."""
        self._dtype = dtype
        self._shape = shape
        self._size = int(np.prod(shape))
        self.arrow_type = pa.list_(pa.from_numpy_dtype(dtype))
        """The type of its column in a prepared corpus."""

    @abstractmethod
    def encode(self, sources: Sequence[Raw], tokenizer: Tokenizer | None) -> Sequence[Row]:
        """Returns the rows of the sources. Raises `SourceError` where one cannot be read. tokenizer: None for sound and
        pictures."""

    def require_readable(self, source: Raw) -> None:
        """Raises `SourceError` where `encode` would, for a sound or a picture, with as little work as possible."""
        self.encode([source], None)

    @abstractmethod
    def column(self, sources: Sequence[str], tokenizer: Tokenizer, opened: Callable[[str], Raw]) -> pa.Array:
        """Returns the rows of the sources of a corpus as a column, in which null repeats the row before.

        opened: returns the input of `encode` for a source. Raises `SourceError`, with its `source`, where one cannot be
        read.
        """

    def lengths(self, column: pa.ChunkedArray) -> np.ndarray:
        """Returns the number of positions of each row, by which batches are made, [N] int64; 0 for null."""
        lengths = pc.list_value_length(column)
        if lengths.null_count:  # `fill_null` loads pandas
            lengths = pc.fill_null(lengths, 0)
        # Lists hold single values, several for each position.
        return numbers(lengths).astype(np.int64) // self._size

    def length(self, row: Row) -> int:
        """Counts the positions of a row."""
        return len(row)

    def require_sizes(self, counts: pa.ChunkedArray) -> None:
        """Raises ValueError where the numbers of a row, other than null, do not make whole positions."""
        if (numbers(counts.drop_null()) % self._size).any():
            raise ValueError("source_ids has a part of a position")

    def rows(self, column: pa.ChunkedArray) -> Column:
        """Returns the rows of a column, each [positions, ...]."""
        return Column(column, self._shape)

    def collate(self, rows: Sequence[Row]) -> tuple[Tensor, Tensor]:
        """Returns the rows as one tensor [B, S, ...], padded with 0 on the right, and the mask [B, S] bool of real
        positions."""
        import torch  # Not above: the processes that prepare sources would wait for it.

        # [B, S, ...]
        lengths = np.array([len(row) for row in rows])
        padded = np.zeros((len(rows), lengths.max(), *self._shape), self.batch_dtype or self._dtype)
        for line, row in zip(padded, rows, strict=True):
            line[: len(row)] = row
        return torch.from_numpy(padded), torch.from_numpy(np.arange(padded.shape[1]) < lengths[:, None])

    @abstractmethod
    def labels(self, row: Row, positions: int, tokenizer: Tokenizer) -> list[str]:
        """Returns the labels in drawings of attention, one for each position that the model makes of a row."""

    def units(self, positions: int, tokenizer: Tokenizer, unit: LinkUnit, source: Raw) -> list[int | None]:
        """Returns the number of the unit, such as a word, to which each position belongs, or None; by default each
        position is a unit.

        source: what the caller passed.
        """
        return [*range(positions)]

    def describe(
        self, row: Row, positions: int, tokenizer: Tokenizer, unit: LinkUnit, source: Raw | None
    ) -> ReadSource:
        """Describes a source for alignments and delays; by default each position arrives alone.

        source: what the caller passed; None where only the row is known.
        """
        labels = self.labels(row, positions, tokenizer)
        length = self.length(row)
        # Functions, since few callers ask for arrivals, units or a drawing.
        arrivals = functools.partial(np.ones, length, np.int64)
        drawn = functools.partial(self.backdrop, row, positions, source)
        return ReadSource(labels, functools.partial(range, positions), arrivals, length, self.milliseconds or 1, drawn)

    def backdrop(self, row: Row, positions: int, source: Raw | None) -> Backdrop | None:
        """Returns the picture on which attention to a row is drawn; None for a table of `labels`. source: as in
        `describe`."""
        return None

    def arriving(self, tokenizer: Tokenizer, unit: Unit, needed: Callable[[np.ndarray], np.ndarray]) -> Arriving:
        """Returns a source that arrives part by part. Raises UserError where the field has no such sources.

        unit: the parts of a text. needed: returns how many positions must have come for numbers of vectors; see
        `Frontend.needed`.
        """
        raise UserError("a stream is of text or of sound, and this model reads neither: translate whole files")

    def blank(self, row: Row) -> bool:
        """Returns whether there is nothing to translate in a row."""
        return len(row) == 0


class ArrayField(Field):
    """A field of arrays. Rows are stored flat, and once where successive examples share a source."""

    def __init__(self, dtype: type[np.generic], shape: tuple[int, ...], longest: int) -> None:
        """
        Args:
            dtype, shape: see `Field`.
            longest: the most positions of a row.
        """
        super().__init__(dtype, shape)
        self.shard_size = max(1, _VALUES // (longest * self._size))

    def column(self, sources: Sequence[str], tokenizer: Tokenizer, opened: Callable[[str], Raw]) -> pa.ListArray:
        source_before: str | None = None
        rows: list[np.ndarray | None] = []
        for source in sources:
            try:
                # Examples in a row that share a picture or a sound store it once.
                rows += [None] if source == source_before else self.encode([opened(source)], tokenizer)
            except SourceError as error:
                error.source = source
                raise
            source_before = source
        return self.array(rows)

    def array(self, rows: Sequence[Row | None]) -> pa.ListArray:
        """Returns rows as a column, in which null stands for None, which repeats the row before."""
        known = [np.asarray(row, self._dtype).ravel() for row in rows if row is not None]
        absent = np.array([row is None for row in rows], dtype=bool)
        # Null has no values; `shard_size` keeps offsets within 32 bits.
        sizes = np.zeros(len(rows) + 1, dtype=np.int32)
        sizes[1:][~absent] = [len(row) for row in known]
        values = np.concatenate(known) if known else np.zeros(0, self._dtype)
        return pa.ListArray.from_arrays(pa.array(np.cumsum(sizes, dtype=np.int32)), values, mask=pa.array(absent))

    def encode(self, sources: Sequence[Raw], tokenizer: Tokenizer | None) -> list[np.ndarray]:
        """Returns the rows of the sources. The row of a blank string has no positions. Arrays of other libraries, such
        as tensors, are accepted where NumPy reads them."""
        nothing = np.zeros((0, *self._shape), dtype=self._dtype)
        blank = (isinstance(source, str) and not source.strip() for source in sources)
        return [nothing if empty else self._row(_raw(source)) for source, empty in zip(sources, blank, strict=True)]

    @abstractmethod
    def _row(self, source: Raw) -> np.ndarray:
        """Reads one source, and returns its row, [positions, ...]. Raises SourceError where it cannot be read."""


def _raw(source: Any) -> Raw:
    """Converts a source to one of the types of `Raw`. Raises SourceError where that is impossible."""
    if isinstance(source, Raw):
        return source
    if hasattr(source, "__array__"):
        with contextlib.suppress(TypeError, RuntimeError):  # a tensor on another device, or of bfloat16
            return np.asarray(source)
    raise SourceError(
        f"a source given as {type(source).__name__} is neither a path, nor the bytes of a file, nor an array in main "
        "memory: give one of them"
    )


# The inputs of the Python API: one source or text, or any iterable of them.

_LISTING = "OSTU"
"""The kinds of NumPy's types for texts and other objects. Arrays of numbers are samples or pixels."""


def as_list(inputs: Raw | Iterable[Raw]) -> tuple[list[Raw], bool]:
    """Returns the inputs as a list, and whether it was a single input instead of an iterable.

    Lists, generators, views of dictionaries and arrays of texts are iterables, and are read once. An array of numbers,
    also of another library, is one input.
    """
    # An array of texts is a list of texts; any other array is one source.
    if isinstance(inputs, np.ndarray) and inputs.dtype.kind in _LISTING:
        inputs = inputs.tolist()
    if isinstance(inputs, Raw) or _is_tensor(inputs) or not isinstance(inputs, Iterable):
        return [inputs], True
    return list(inputs), False


def _is_tensor(inputs: object) -> TypeGuard[np.ndarray]:
    """Returns whether the input is an array of numbers of another library, such as a tensor."""
    kind = getattr(getattr(inputs, "dtype", None), "kind", "")
    return hasattr(inputs, "__array__") and (kind == "" or kind not in _LISTING)


def require_texts(inputs: Iterable[object], name: str = "text") -> None:
    """Raises UserError where an input is no text, or a text that UTF-8 cannot write or that holds a NUL.

    name: the name of the inputs in errors, which number them from 1.
    """
    for number, text in enumerate(inputs, start=1):
        if not isinstance(text, str):
            kind = "None" if text is None else f"of type {type(text).__name__}"
            raise UserError(f"{name} {number} is {kind}, and this is for text: give a str, or a list of them")
        require_writable(text, f"{name} {number}")


def require_writable(text: str, name: str) -> None:
    """Raises UserError where UTF-8 cannot write the text, or it holds a NUL. name: its name in errors."""
    if "\0" in text:
        raise UserError(f"{name} holds a NUL character: remove it")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"{name} holds half of a character ({ascii(text[error.start])[1:-1]}), as of bytes that were read as "
            "something else: give what the bytes say in their own encoding"
        ) from None
