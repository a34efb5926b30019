"""What a field of a corpus is: how one side of its examples is stored, measured, made into batches and labelled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from mt.data.tokenizer import Tokenizer

if TYPE_CHECKING:  # preparation, which stores fields, would wait for torch
    from torch import Tensor


class Field(ABC):
    """One side of the examples of a corpus. A row is one example's."""

    arrow_type: pa.DataType
    """Of its column in a prepared corpus."""

    @abstractmethod
    def lengths(self, column: pa.ChunkedArray) -> np.ndarray:
        """[N] int64: the positions of each row."""

    @abstractmethod
    def rows(self, column: pa.ChunkedArray) -> list[np.ndarray]:
        """The rows of a column, each [positions, ...]."""

    @abstractmethod
    def collate(self, rows: Sequence[np.ndarray]) -> tuple[Tensor, Tensor]:
        """The rows as one tensor [B, S, ...], padded on the right, and the mask [B, S] bool of real positions."""

    @abstractmethod
    def labels(self, row: Sequence[int] | np.ndarray, tokenizer: Tokenizer) -> list[str]:
        """What to write beside each position of a row in a picture. tokenizer: of this side, for text."""
