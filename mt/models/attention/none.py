"""No attention, the baseline: the source is one fixed vector (Sutskever et al. 2014; Cho et al. 2014)."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from mt.common.options import Options
from mt.models.attention.base import Attention, AttentionOutput, AttentionStep, Memory, State
from mt.models.encoders.base import Encoded


class NoneConfig(Options):
    name: Literal["none"] = "none"
    context: Literal["zeros", "last"] = "zeros"
    """zeros: the decoder knows the source from its first state alone (Sutskever et al. 2014); last: every step also
    gets the value at the last source position (Cho et al. 2014, section 2.2)."""


class NoAttention(Attention):
    Config = NoneConfig
    learns_weights = False
    mass_preservation = False

    def __init__(self, config: NoneConfig, query_size: int, value_size: int) -> None:
        super().__init__()
        self.uses_source = config.context == "last"

    def init_memory(self, encoded: Encoded) -> Memory:
        return Memory((), encoded.values, encoded.mask)

    def step(self, query: Float[Tensor, "B Q"], memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        return self._attend(query[:, None], memory).only_step(state)

    def forward(self, queries: Float[Tensor, "B T Q"], memory: Memory, *, hard: bool = False) -> AttentionOutput:
        return self._attend(queries, memory)

    def _attend(self, queries: Float[Tensor, "B T Q"], memory: Memory) -> AttentionOutput:
        # The last position or nothing, [B, S], the same for all steps.
        selected = memory.is_last() if self.uses_source else torch.zeros_like(memory.mask)
        weights = selected.float()[:, None].expand(-1, queries.shape[1], -1)
        return AttentionOutput(memory.contexts(weights), weights)
