"""Global attention: a softmax over the whole source (Luong et al. 2015, section 3.1, equation 7)."""

from typing import ClassVar, Literal

from pydantic import BaseModel
from torch import Tensor

from mt.models.attention.base import Attention, Memory, Read, Reads, State, read_one, weighted
from mt.models.attention.energy import EnergyConfig, GeneralConfig, Scaled, build_energy
from mt.ops import masked_softmax


class GlobalConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["global"] = "global"
    energy: EnergyConfig = GeneralConfig()
    """How well a position fits a query: dot, general, concat or location (Luong et al. 2015, equation 8)."""
    scaled: bool = True
    """Whether energies have a learned gain that starts at 1 / sqrt(d), d the terms of an energy, and concat's direction
    is normalized (TF-NMT's `scaled_luong`, `normed_bahdanau`; Salimans & Kingma 2016). Without it (Luong et al. 2015)
    dot and general of hundreds of features make the softmax one-hot before it has learnt where to look. Concat, whose
    terms are bounded, learns sooner without (Bahdanau et al. 2015)."""


class Global(Attention):
    Config: ClassVar[type[BaseModel]] = GlobalConfig

    def __init__(self, config: GlobalConfig, query_size: int, value_size: int) -> None:
        super().__init__()
        energy = build_energy(config.energy, query_size, value_size, normalized=config.scaled)
        self.longest_source = energy.longest
        self.energy = Scaled(energy) if config.scaled else energy

    def remember(self, values: Tensor, mask: Tensor) -> Memory:
        return Memory((self.energy.keys(values),), values, mask)

    def step(self, query: Tensor, memory: Memory, state: State, *, hard: bool = False) -> Read:
        return read_one(self.reads(query[:, None], memory), state)

    def reads(self, queries: Tensor, memory: Memory, *, hard: bool = False) -> Reads:
        weights = masked_softmax(self.energy(queries, memory.keys[0]), memory.mask[:, None])
        return Reads(weighted(weights, memory.values), weights)
