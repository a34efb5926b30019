"""Global attention: a softmax over the whole source (Luong et al. 2015, section 3.1, equation 7)."""

from typing import Literal

from pydantic import BaseModel
from torch import Tensor

from mt.models.attention.base import Attention, Memory, Read, State
from mt.models.attention.energy import EnergyConfig, GeneralConfig, build_energy
from mt.ops import masked_softmax


class GlobalConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["global"] = "global"
    energy: EnergyConfig = GeneralConfig()
    """How well a position fits a query: dot, general or concat (Luong et al. 2015, equation 8)."""


class Global(Attention):
    Config = GlobalConfig

    def __init__(self, config: GlobalConfig, query_size: int, value_size: int) -> None:
        super().__init__()
        self.energy = build_energy(config.energy, query_size, value_size)

    def remember(self, values: Tensor, mask: Tensor) -> Memory:
        return Memory((self.energy.keys(values),), values, mask)

    def step(self, query: Tensor, memory: Memory, state: State, *, hard: bool = False) -> Read:
        contexts, weights = self.forward(query[:, None], memory)
        return Read(contexts[:, 0], weights[:, 0], state)

    def forward(self, queries: Tensor, memory: Memory, *, hard: bool = False) -> tuple[Tensor, Tensor]:
        weights = masked_softmax(self.energy(queries, memory.keys[0]), memory.mask[:, None])
        return weights.to(memory.values.dtype) @ memory.values, weights
