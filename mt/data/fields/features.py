"""Photographs as a pretrained network sees them: its features are computed once, while preparing, and stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from mt.common.backdrop import Picture
from mt.common.options import Options
from mt.data.fields.arrays import ArrayField
from mt.data.fields.base import Raw, Row, SourceError
from mt.data.fields.efficientnet import GRID, SIDE, SIZE, features
from mt.data.fields.image import ImageConfig, ImageField, grid_labels, on_grid
from mt.data.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

_SHARD = 1_000
"""Examples that are prepared at a time: some 20 seconds, the most that an interruption loses."""


class FeaturesConfig(Options):
    name: Literal["features"] = "features"
    network: Literal["efficientnet_lite0"] = "efficientnet_lite0"
    """What makes them, frozen: EfficientNet-Lite0 gives 14 x 14 vectors of 112 numbers."""


class FeaturesField(ArrayField):
    """A row is [196, 112] float16, place by place from the upper left; a batch is [B, 196, 112] float16, its mask true.

    A source is what `ImageField` reads, stretched to the network's size, or such a row.
    """

    Config: ClassVar[type[Options]] = FeaturesConfig
    endings = ImageField.endings

    def __init__(self, config: FeaturesConfig) -> None:
        super().__init__(np.float16, (SIZE,), GRID**2)
        self.shard_size = _SHARD
        self._pictures = ImageField(ImageConfig(size=SIDE))

    def require_readable(self, source: Raw) -> None:
        """Reads the picture alone: the network takes a hundred times as long."""
        self._pictures.require_readable(source)

    def collate(self, rows: Sequence[Row]) -> tuple[Tensor, Tensor]:
        import torch  # Not above: the processes that prepare other sources would wait for it.

        vectors = torch.from_numpy(np.stack([np.asarray(row) for row in rows]))
        return vectors, torch.ones(vectors.shape[:2], dtype=torch.bool)

    def labels(self, row: Row, positions: int, tokenizer: Tokenizer) -> list[str]:
        return grid_labels(positions)

    def backdrop(self, row: Row, positions: int, source: Raw | None) -> Picture | None:
        """Reads the picture again, which the corpus does not hold; None where it cannot be read any more."""
        if source is None:
            return None
        try:
            [pixels] = self._pictures.encode([source], None)
        except SourceError:
            return None
        return on_grid(pixels, positions) if len(pixels) else None

    def _row(self, source: Raw) -> np.ndarray:
        if isinstance(source, np.ndarray) and source.shape == (GRID**2, SIZE) and source.dtype.kind == "f":
            return source.astype(np.float16)
        [pixels] = self._pictures.encode([source], None)
        return features(pixels)
