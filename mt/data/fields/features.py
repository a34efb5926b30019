"""Features that a network has computed from a picture, or from anything else: arrays in NumPy's files (`.npy`)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.lib import format as npy
from pydantic import Field as Option

from mt.common.input_files import open_regular
from mt.common.options import MAX_SIZE, Options
from mt.data.fields.base import ArrayField, Raw, Row, SourceError
from mt.data.fields.image import grid_labels
from mt.data.tokenizer import Tokenizer
from mt.errors import message_of

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class FeaturesConfig(Options):
    name: Literal["features"] = "features"
    size: Annotated[int, "pixels"] = Option(112, ge=1, le=MAX_SIZE)
    """Numbers of a vector; `frontend.size` is the same."""
    places: Annotated[int, "places"] = Option(196, ge=1, le=MAX_SIZE)
    """Most vectors of an example."""


class FeaturesField(ArrayField):
    """A row is [places, size] float16; a batch is [B, P, size] float16, its mask [B, P] true where a place is real.

    A source is a `.npy` file, or an array, of floating-point numbers: [places, size], or [height, width, size], whose
    places are read row by row.
    """

    Config: ClassVar[type[Options]] = FeaturesConfig
    endings = (".npy",)

    def __init__(self, config: FeaturesConfig) -> None:
        super().__init__(np.float16, (config.size,), config.places)
        self._places = config.places

    def labels(self, row: Row, positions: int, tokenizer: Tokenizer) -> list[str]:
        return grid_labels(positions)

    def _row(self, source: Raw) -> np.ndarray:
        if isinstance(source, np.ndarray):
            self._require_shape("the array", source.shape, source.dtype)
            return self._flat("the array", source)
        name = "the array" if isinstance(source, bytes) else str(source)
        try:
            with io.BytesIO(source) if isinstance(source, bytes) else open_regular(Path(source)) as file:
                # The header is checked before memory is taken for the array.
                shape, _, dtype = _HEADERS[npy.read_magic(file)](file)
                self._require_shape(name, shape, dtype)
                file.seek(0)
                return self._flat(name, npy.read_array(file, allow_pickle=False))
        except SourceError:
            raise
        except Exception as error:  # the reader may raise anything for a broken file
            raise SourceError(f"{name} is no .npy file, or broken ({message_of(error).rstrip('.')})") from error

    def _require_shape(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
        # A grid of vectors is read row by row, so that only their number counts.
        fits = len(shape) in (2, 3) and shape[-1] == self._size and 0 < np.prod(shape) <= self._places * self._size
        if dtype.kind != "f" or not fits:
            raise SourceError(
                f"{name} has the shape {list(shape)} of {dtype}: expected floating-point numbers "
                f"[places, {self._size}] or [height, width, {self._size}], at most {self._places} places "
                "(dataset.field.size and .places)"
            )

    def _flat(self, name: str, array: np.ndarray) -> np.ndarray:
        # Numbers beyond 16 bits become infinite, and are refused.
        with np.errstate(over="ignore"):
            row = array.reshape(-1, self._size).astype(np.float16)
        if not np.isfinite(row).all():
            raise SourceError(f"{name} holds numbers that are not finite in 16 bits: scale them")
        return row
