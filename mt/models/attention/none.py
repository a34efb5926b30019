"""No attention: the source is known as one fixed vector, the baseline of the family (Sutskever et al. 2014; Cho et al.
2014)."""

from typing import Literal

import torch
from pydantic import BaseModel
from torch import Tensor

from mt.models.attention.base import Attention, Memory, Read, Reads, State, read_one, weighted
from mt.models.attention.masks import last


class NoneConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["none"] = "none"
    context: Literal["zeros", "last"] = "zeros"
    """zeros: the decoder knows the source from its first state alone (Sutskever et al. 2014); last: at every step it
    also reads what the encoder says at the end of the sentence (Cho et al. 2014, section 2.2)."""


class NoAttention(Attention):
    Config = NoneConfig

    def __init__(self, config: NoneConfig, query_size: int, value_size: int) -> None:
        super().__init__()
        self.blind = config.context == "zeros"

    def remember(self, values: Tensor, mask: Tensor) -> Memory:
        return Memory((), values, mask)

    def step(self, query: Tensor, memory: Memory, state: State, *, hard: bool = False) -> Read:
        return read_one(self.reads(query[:, None], memory), state)

    def reads(self, queries: Tensor, memory: Memory, *, hard: bool = False) -> Reads:
        read = torch.zeros_like(memory.mask) if self.blind else last(memory.mask)
        weights = read.float()[:, None].expand(-1, queries.shape[1], -1)
        return Reads(weighted(weights, memory.values), weights)
