"""How long a picture is to a search, which limits the caption by it."""

import numpy as np
import pytest
import torch

from mt.common.options import parse
from mt.data.fields import ImageConfig, ImageField
from mt.data.tokenizer import EOS
from mt.models.config import ModelConfig
from mt.models.seq2seq import Seq2Seq
from mt.search.config import GreedyConfig
from tests.decoding.decoded import decode_ids


@pytest.mark.parametrize("size", [32, 64, 128])
def test_a_caption_may_be_as_long_as_the_places_of_its_picture_allow(size: int) -> None:
    """A field counts a picture in squares of its own size; a search counts the vectors that the front-end makes."""
    plain = {
        "frontend": {"name": "image", "channels": 8},
        "encoder": {"name": "none"},
        "decoder": {"name": "luong", "hidden_size": 8, "readout_size": 8},
        "embedding": {"embedding_dim": 8},
    }
    model = Seq2Seq(parse(plain, ModelConfig), 10, 10).eval()
    with torch.no_grad():
        model.decoder.output.bias[EOS] = -1e9  # so that nothing but the limit ends a caption
    pictures = [np.zeros((size, size, 3), np.uint8)] * 2
    search = GreedyConfig(max_ratio=1.0, max_extra=1)
    result = decode_ids(
        model, pictures, search, vocab_size=10, precision="fp32", field=ImageField(ImageConfig(size=size))
    )
    assert [len(best.tokens) for (best,) in result] == [(size // 8) ** 2 + 1] * 2
