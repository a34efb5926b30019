"""Location-aware attention: the weights of the step before join the additive energy. So an attention over speech, which
has many alike places, can move on (Chorowski et al. 2015, "Attention-based models for speech recognition").

    f_i = F * a_{i-1},   e_ij = w . tanh(W s_{i-1} + V h_j + U f_ij + b)        (equations 8 and 9)

with a convolution of the weights a of the step before with k filters F. Before the first step they are equal over the
source.
"""

from typing import Annotated, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from mt.common.options import MAX_SIZE
from mt.kernels.additive import additive_energy
from mt.kernels.linear import Linear
from mt.kernels.sequences import masked_softmax
from mt.models.attention.base import Attention, AttentionStep, Memory, State
from mt.models.attention.energy import ConcatConfig
from mt.models.encoders.base import Encoded
from mt.step import Attended


class LocationAwareConfig(ConcatConfig):
    name: Literal["location_aware"] = "location_aware"  # type: ignore[assignment]
    filters: Annotated[int, "units"] = Field(10, gt=0, le=MAX_SIZE)
    """k, the filters of the convolution over the weights of the step before (Chorowski et al. 2015: 10)."""
    filter_reach: Annotated[int, "positions"] = Field(15, ge=0, le=MAX_SIZE)
    """Positions that a filter reaches to either side (Chorowski et al. 2015: 100, of 10 ms each)."""


class LocationAware(Attention):
    Config = LocationAwareConfig

    def __init__(self, config: LocationAwareConfig, query_size: int, value_size: int) -> None:
        super().__init__()
        size = config.attention_dim
        width = 2 * config.filter_reach + 1
        self.project_query = Linear(query_size, size, bias=False, int8=True)
        self.project_value = Linear(value_size, size)
        self.locate = nn.Conv1d(1, config.filters, width, padding=config.filter_reach, bias=False)
        self.project_location = Linear(config.filters, size, bias=False)
        self.direction = nn.Parameter(torch.empty(size).uniform_(-1, 1) / size**0.5)

    def init_memory(self, encoded: Encoded) -> Memory:
        return Memory((self.project_value(encoded.values),), encoded.values, encoded.mask)

    def init_state(self, memory: Memory, *, hard: bool = False) -> State:
        """Returns the weights of the step before, [B, S]; before the first step they are uniform."""
        mask = memory.mask.float()
        return (mask / mask.sum(1, keepdim=True).clamp(min=1),)

    def step(self, query: Float[Tensor, "B Q"], memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        # The weights of the step before, convolved along the source, join the keys.
        # Behind a sentence the weights are 0, as the convolution's own padding is: a longer neighbour changes nothing.
        located = self.project_location(self.locate(state[0][:, None]).transpose(1, 2))  # [B, S, A]
        energy = additive_energy(self.project_query(query)[:, None], memory.keys[0] + located, self.direction)
        weights = masked_softmax(energy, memory.mask[:, None])  # [B, 1, S]
        return AttentionStep(memory.contexts(weights)[:, 0], Attended(weights[:, 0]), (weights[:, 0],))
