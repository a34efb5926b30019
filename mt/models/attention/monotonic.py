"""Hard monotonic attention, trained in expectation (Raffel et al. 2017).

The process: from where it last stopped, the head moves right and stops at each position with probability p. Soft mode
computes the expectation over all its paths; hard mode follows the one path of decisions energy >= 0, which is
p >= 0.5. Both are the same recurrence, the second with p rounded to 0 and 1, so that training and decoding cannot drift
apart.

What is read where the head stops is for subclasses to say: here, the position itself.
"""

from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import BaseModel, Field
from torch import Tensor

from mt.models.attention.base import Attention, Memory, Read, Reads, State, read_one, weighted
from mt.models.attention.energy import EnergyConfig, GeneralConfig, Scaled, build_energy
from mt.models.attention.masks import first, last
from mt.ops import differentiable_average_lagging, expected_alignment


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
    latency: float = Field(0.0, ge=0)
    """lambda: nats that training pays for each source token of expected lagging (Arivazhagan et al. 2019, section 3.3,
    there 0.01 to 0.75 with milk)."""


class Walk(NamedTuple):
    """How the head moves; all [B, T, S] in float32."""

    previous: Tensor
    """alpha of the step before."""
    p: Tensor
    """The probability of stopping at a position that is looked at."""
    alpha: Tensor
    """The probability of stopping at a position."""
    hard: bool
    """Whether these are decisions, each 0 or 1."""


class Monotonic(Attention):
    Config: ClassVar[type[BaseModel]] = MonotonicConfig
    can_be_hard = True
    monotonic = True

    def __init__(self, config: MonotonicConfig, query_size: int, value_size: int) -> None:
        super().__init__()
        self.noise = config.noise
        self.exhausted = config.exhausted
        self.latency = config.latency
        energy = build_energy(config.energy, query_size, value_size, normalized=True)
        self.energy = Scaled(energy, config.offset)
        self.longest_source = energy.longest

    def remember(self, values: Tensor, mask: Tensor) -> Memory:
        return Memory((self.energy.keys(values),), values, mask)

    def start(self, memory: Memory) -> State:
        return (first(memory.mask).float(),)

    def step(self, query: Tensor, memory: Memory, state: State, *, hard: bool = False) -> Read:
        reads = self._read(query[:, None], memory, state[0], hard)
        assert reads.alpha is not None
        alpha = reads.alpha[:, 0]
        return read_one(reads, (alpha,), _stops(alpha) if hard else None)

    def reads(self, queries: Tensor, memory: Memory, *, hard: bool = False) -> Reads:
        return self._read(queries, memory, self.start(memory)[0], hard)

    def extra_loss(self, reads: Reads, losses: Tensor, source_mask: Tensor, target_mask: Tensor) -> Tensor | None:
        """The expected lagging (Arivazhagan et al. 2019, equations 10 to 14)."""
        if not self.latency:
            return None
        assert reads.alpha is not None
        lengths = source_mask.sum(1)
        read = torch.arange(1, source_mask.shape[1] + 1, device=lengths.device)
        # A head that has left the sentence has read all of it.
        lost = (1 - reads.alpha.sum(-1)).clamp(min=0)
        delays = reads.alpha @ read.to(reads.alpha.dtype) + lost * lengths[:, None]
        return self.latency * differentiable_average_lagging(delays, lengths, target_mask).sum()

    def _read(self, queries: Tensor, memory: Memory, before: Tensor, hard: bool) -> Reads:
        """before: [B, S], alpha of the step before the first."""
        p = self._stopping(queries, memory, hard)
        alpha = expected_alignment(p, before)
        walk = Walk(torch.cat((before[:, None], alpha[:, :-1]), 1), p, alpha, hard)
        weights = self._weights(walk, queries, memory)
        return Reads(weighted(weights, memory.values), weights, alpha, p)

    def _stopping(self, queries: Tensor, memory: Memory, hard: bool) -> Tensor:
        energy = self.energy(queries, memory.keys[0])
        if self.training and self.noise:
            energy = energy + self.noise * torch.randn_like(energy)
        # Not sigmoid(energy) >= 0.5, as the sigmoid of a small negative energy is rounded to 0.5.
        p = (energy >= 0).to(energy.dtype) if hard else energy.sigmoid()
        p = p.masked_fill(~memory.mask[:, None], 0.0)
        return p.masked_fill(last(memory.mask)[:, None], 1.0) if self.exhausted == "last" else p

    def _weights(self, walk: Walk, queries: Tensor, memory: Memory) -> Tensor:
        """What is read, [B, T, S]: of each row as much as alpha has of it."""
        return walk.alpha


def _stops(alpha: Tensor) -> Tensor:
    """[B]: the position that a one-hot row selects, S for a row of zeros. alpha: [B, S]."""
    return torch.where(alpha.any(-1), alpha.argmax(-1), alpha.shape[-1])
