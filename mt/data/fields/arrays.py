"""Fields whose rows are arrays of one shape, but for their length.

`ArrayField` stores rows flat in an Arrow column, and restores their shape. A subclass reads one source (`_row`).
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from mt.data.fields.base import Field, Raw, Row, SourceError
from mt.data.tokenizer import Tokenizer

_VALUES = 1 << 28
"""Most values of a shard, about: 0.5 GB of sound."""


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
