"""Hard monotonic attention, trained in expectation (Raffel et al. 2017).

The process: from where it last stopped, the head moves right and stops at each position with probability p. Soft mode
computes the expectation over all its paths; hard mode follows the one path of decisions p >= 0.5. Both are the same
recurrence, the second with p rounded to 0 and 1, so that training and decoding cannot drift apart.
"""

from typing import ClassVar, Literal

import torch
from pydantic import BaseModel, Field
from torch import Tensor

from mt.models.attention.base import Attention, Memory, Read, State
from mt.models.attention.energy import EnergyConfig, GeneralConfig, Scaled, build_energy
from mt.ops import expected_alignment


class MonotonicConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["monotonic"] = "monotonic"
    energy: EnergyConfig = GeneralConfig()
    """concat is Raffel et al. 2017, equation 16; general is equation 17."""
    offset: float = -2.0
    """Initial r, in nats: negative, so that at first the head moves (Raffel et al. 2017, appendices D, G: -1 to -5)."""
    noise: float = Field(2.0, ge=0)
    """Standard deviation of the noise before the sigmoid, in training (Raffel et al. 2017, section 2.4: 1;
    Arivazhagan et al. 2019, table 4: 4)."""
    exhausted: Literal["zeros", "last"] = "last"
    """When the head leaves the sentence: `zeros` - nothing is read from then on (Raffel et al. 2017, section 2.2);
    `last` - it stops at the last position at the latest (Arivazhagan et al. 2019, section 3.2)."""


class Monotonic(Attention):
    Config: ClassVar[type[BaseModel]] = MonotonicConfig
    can_be_hard = True

    def __init__(self, config: MonotonicConfig, query_size: int, value_size: int) -> None:
        super().__init__()
        self.noise = config.noise
        self.exhausted = config.exhausted
        energy = build_energy(config.energy, query_size, value_size, normalized=True)
        self.energy = Scaled(energy, config.offset)

    def remember(self, values: Tensor, mask: Tensor) -> Memory:
        return Memory((self.energy.energy.keys(values),), values, mask)

    def start(self, memory: Memory) -> State:
        first = torch.zeros_like(memory.mask, dtype=torch.float32)
        first[:, 0] = 1.0
        return (first,)

    def step(self, query: Tensor, memory: Memory, state: State, *, hard: bool = False) -> Read:
        alpha, weights = self._align(query[:, None], memory, state, hard)
        context = (weights.to(memory.values.dtype) @ memory.values)[:, 0]
        return Read(context, weights[:, 0], (alpha[:, 0],), _stops(alpha[:, 0]) if hard else None)

    def forward(self, queries: Tensor, memory: Memory, *, hard: bool = False) -> tuple[Tensor, Tensor]:
        _, weights = self._align(queries, memory, self.start(memory), hard)
        return weights.to(memory.values.dtype) @ memory.values, weights

    def _align(self, queries: Tensor, memory: Memory, state: State, hard: bool) -> tuple[Tensor, Tensor]:
        """alpha, the probability of stopping at each position, and the weights that follow from it; both [B, T, S]."""
        alpha = expected_alignment(self._stopping(queries, memory, hard), state[0])
        return alpha, self._weights(alpha, queries, memory)

    def _stopping(self, queries: Tensor, memory: Memory, hard: bool) -> Tensor:
        """p: the probability of stopping at a position that is looked at, [B, T, S] in float32."""
        energy = self.energy(queries, memory.keys[0])
        if self.training and self.noise:
            energy = energy + self.noise * torch.randn_like(energy)
        p = energy.sigmoid()
        if hard:
            p = (p >= 0.5).to(p.dtype)
        p = p.masked_fill(~memory.mask[:, None], 0.0)
        return p.masked_fill(_last(memory.mask)[:, None], 1.0) if self.exhausted == "last" else p

    def _weights(self, alpha: Tensor, queries: Tensor, memory: Memory) -> Tensor:
        return alpha


def _last(mask: Tensor) -> Tensor:
    """[B, S] bool: true on the last real position of each sentence."""
    return mask & ~torch.nn.functional.pad(mask, (0, 1))[:, 1:]


def _stops(alpha: Tensor) -> Tensor:
    """[B]: the position that a one-hot row selects, S for a row of zeros. alpha: [B, S]."""
    return torch.where(alpha.any(-1), alpha.argmax(-1), alpha.shape[-1])
