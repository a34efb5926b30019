"""How long a picture is to a search, which limits the caption by it."""

from typing import Any

import numpy as np
import pytest
import torch

from mt import decoding
from mt.data.fields import ImageConfig, ImageField
from mt.decoding.batches import decode_ids
from mt.models.config import ModelConfig
from mt.models.seq2seq import Seq2Seq
from mt.parsing import parse
from mt.search.config import GreedyConfig


@pytest.mark.parametrize("size", [32, 64, 128])
def test_a_caption_may_be_as_long_as_the_places_of_its_picture_allow(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A field counts a picture in squares of its own size, and has a mask of its rows."""
    frontend, encoder = {"name": "image", "channels": 8}, {"name": "none"}
    plain = {
        "frontend": frontend,
        "encoder": encoder,
        "decoder": {"name": "luong", "hidden_size": 8, "readout_size": 8},
    }
    config = parse({**plain, "embedding": {"embedding_dim": 8}}, ModelConfig)
    model, field = Seq2Seq(config, 10, 10).eval(), ImageField(ImageConfig(size=size))
    found: list[torch.Tensor] = []

    def noted(search: GreedyConfig, verbs: Any, memory: Any, lengths: torch.Tensor, read_for: None) -> list[list[None]]:
        assert torch.equal(lengths, memory.attention.mask.sum(1))
        found.append(lengths)
        return [[None] for _ in lengths]

    monkeypatch.setattr(decoding, "decode", noted)
    pictures = [np.zeros((size, size, 3), np.uint8)] * 2
    decode_ids(model, pictures, GreedyConfig(), vocab_size=10, precision="fp32", field=field)
    assert [length for lengths in found for length in lengths.tolist()] == [(size // 8) ** 2] * 2
