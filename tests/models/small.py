"""Small models of any parts, values as an encoder gives them, and sources that arrive in pieces."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mt.models.config import ModelConfig
from mt.models.encoders import Encoded
from mt.models.seq2seq import Seq2Seq

USUAL: dict[str, dict[str, Any]] = {
    "embedding": {"embedding_dim": 5, "dropout": 0.0},
    "encoder": {"name": "lstm", "hidden_size": 6},
    "decoder": {"name": "luong", "hidden_size": 6, "readout_size": 5, "dropout": 0.0},
    "attention": {"name": "general"},
}


def small_config(**parts: Any) -> ModelConfig:
    """parts: as a dictionary, whatever else is usual stays; another value is taken as it is."""
    plain = {name: USUAL.get(name, {}) | part if isinstance(part, Mapping) else part for name, part in parts.items()}
    return ModelConfig(**USUAL | plain)


def small(source: int = 20, target: int = 14, **parts: Any) -> Seq2Seq:
    """source, target: the sizes of the vocabularies."""
    return Seq2Seq(small_config(**parts), source, target)


def encoded(values: Tensor, mask: Tensor | None = None) -> Encoded:
    """mask: by default all positions are real."""
    mask = torch.ones(values.shape[:2], dtype=torch.bool) if mask is None else mask
    return Encoded(values, mask, values[:, 0])


Counts = Sequence[int]


def arrivals(lengths: Counts, draw: random.Random, steps: Counts = (0, 0, 1, 2, 4)) -> Iterator[tuple[Counts, Counts]]:
    """How many positions of each source had come, and have come now, again and again until all have."""
    before = [0] * len(lengths)
    while before != [*lengths]:
        after = [min(count + draw.choice(steps), length) for count, length in zip(before, lengths, strict=True)]
        yield before, after
        before = after


def piece(values: Tensor, before: Counts, after: Counts, garbage: float) -> tuple[Tensor, Tensor]:
    """What has come of each source, with garbage on padding, and its mask."""
    new = [row[begin:end] for row, begin, end in zip(values, before, after, strict=True)]
    mask = torch.arange(max(1, *map(len, new))) < torch.tensor([*map(len, new)])[:, None]
    result = values.new_full((*mask.shape, *values.shape[2:]), garbage)
    result[mask] = torch.cat(new)
    return result, mask
