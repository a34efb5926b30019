"""Monotonic attentions that read softly, up to where the head stops: a chunk of fixed width (MoChA), all since the last
stop (MAtChA; both Chiu & Raffel 2018), or all since the beginning (MILk; Arivazhagan et al. 2019)."""

from abc import abstractmethod
from typing import ClassVar, Literal

from pydantic import BaseModel, Field
from torch import Tensor

from mt.models.attention.base import Memory
from mt.models.attention.energy import Scaled, build_energy
from mt.models.attention.monotonic import Monotonic, MonotonicConfig, Walk
from mt.ops import (
    adaptive_chunkwise_attention,
    chunkwise_attention,
    hard_adaptive_chunkwise_attention,
    infinite_lookback_attention,
)


class MoChAConfig(MonotonicConfig, frozen=True, extra="forbid", strict=True):
    name: Literal["mocha"] = "mocha"  # type: ignore[assignment]
    width: int = Field(4, gt=0)
    """w: positions in a chunk (Chiu & Raffel 2018: 2 for speech, 8 for summaries). 1 is hard monotonic attention."""


class MAtChAConfig(MonotonicConfig, frozen=True, extra="forbid", strict=True):
    name: Literal["matcha"] = "matcha"  # type: ignore[assignment]


class MILkConfig(MonotonicConfig, frozen=True, extra="forbid", strict=True):
    name: Literal["milk"] = "milk"  # type: ignore[assignment]


class Chunkwise(Monotonic):
    """The soft attention has an energy of its own, of the same kind (Chiu & Raffel 2018, section 2.3, appendix A)."""

    def __init__(self, config: MonotonicConfig, query_size: int, value_size: int) -> None:
        super().__init__(config, query_size, value_size)
        self.chunk_energy = Scaled(build_energy(config.energy, query_size, value_size, normalized=True))

    def remember(self, values: Tensor, mask: Tensor) -> Memory:
        keys = (self.energy.keys(values), self.chunk_energy.keys(values))
        return Memory(keys, values, mask)

    def _weights(self, walk: Walk, queries: Tensor, memory: Memory) -> Tensor:
        # What is read ends where the head stops, on a real position, so padding to its right is never inside.
        return self._spread(walk, self.chunk_energy(queries, memory.keys[1]))

    @abstractmethod
    def _spread(self, walk: Walk, energy: Tensor) -> Tensor:
        """Each stop's probability over what is read from there. energy: [B, T, S]; returns [B, T, S]."""


class MoChA(Chunkwise):
    """Monotonic chunkwise attention: the `width` positions that end at the stop."""

    Config: ClassVar[type[BaseModel]] = MoChAConfig
    width: int

    def __init__(self, config: MoChAConfig, query_size: int, value_size: int) -> None:
        super().__init__(config, query_size, value_size)
        self.width = config.width

    def _spread(self, walk: Walk, energy: Tensor) -> Tensor:
        return chunkwise_attention(walk.alpha, energy, self.width)


class MAtChA(Chunkwise):
    """Monotonic adaptive chunkwise attention: from the last stop to this one, both included."""

    Config = MAtChAConfig

    def _spread(self, walk: Walk, energy: Tensor) -> Tensor:
        if walk.hard:
            return hard_adaptive_chunkwise_attention(walk.previous, walk.alpha, energy)
        return adaptive_chunkwise_attention(walk.previous, walk.p, energy)


class MILk(Chunkwise):
    """Monotonic infinite lookback: from the beginning of the sentence to the stop."""

    Config = MILkConfig

    def _spread(self, walk: Walk, energy: Tensor) -> Tensor:
        return infinite_lookback_attention(walk.alpha, energy)
