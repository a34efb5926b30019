"""Soft attention over a chunk that ends where a monotonic pointer stops. It begins a fixed number of positions before, in
MoChA (Chiu & Raffel 2018); at the last stop, in MAtChA (ibid., appendix C); or with the source, in MILk (Arivazhagan et
al. 2019)."""

import sys
from abc import abstractmethod
from typing import ClassVar, Literal

from pydantic import BaseModel, Field
from torch import Tensor

from mt.common.options import MAX_SIZE
from mt.models.attention.base import Memory
from mt.models.attention.energy import Energy, Scaled, build_energy
from mt.models.attention.monotonic import Monotonic, MonotonicAlignment, MonotonicConfig
from mt.models.encoders.base import Encoded
from mt.ops.adaptive_chunkwise import adaptive_chunkwise_attention
from mt.ops.chunkwise import chunkwise_attention
from mt.ops.infinite_lookback import infinite_lookback_attention
from mt.ops.sequences import masked_softmax


class Chunkwise(Monotonic):
    """The soft attention has an energy of its own, of the same kind (Chiu & Raffel 2018, section 2.3, appendix A)."""

    Config: ClassVar[type[BaseModel]]
    opts_into = ("forward", "monotonic")
    chunk_energy: Energy

    def __init__(self, config: MonotonicConfig, query_size: int, value_size: int) -> None:
        super().__init__(config, query_size, value_size)
        self.chunk_energy = Scaled(build_energy(config.energy, query_size, value_size, normalized=True))

    def init_memory(self, encoded: Encoded) -> Memory:
        keys = (self.energy.keys(encoded), self.chunk_energy.keys(encoded))
        return Memory(keys, encoded.values, encoded.mask)

    def _weights(self, alignment: MonotonicAlignment, queries: Tensor, memory: Memory) -> Tensor:
        # The stop is a real position, and nothing after it is attended to: padding never is.
        return self._soft_attention(alignment, self.chunk_energy(queries, memory.keys[1]))

    @abstractmethod
    def _soft_attention(self, alignment: MonotonicAlignment, energy: Tensor) -> Tensor:
        """Returns the expected weights over all stops, [B, T, S]. energy: [B, T, S]."""


class MoChAConfig(MonotonicConfig):
    name: Literal["mocha"] = "mocha"  # type: ignore[assignment]
    chunk_size: int = Field(4, gt=0, le=MAX_SIZE)
    """w: positions in a chunk (Chiu & Raffel 2018: 2 for speech, 8 for summaries). 1 is hard monotonic attention."""


class MoChA(Chunkwise):
    """Monotonic chunkwise attention: the `chunk_size` positions that end at the stop."""

    Config = MoChAConfig
    opts_into = ("forward", "monotonic")
    chunk_size: int

    def __init__(self, config: MoChAConfig, query_size: int, value_size: int) -> None:
        super().__init__(config, query_size, value_size)
        self.chunk_size = config.chunk_size
        self.lookback = config.chunk_size - 1

    def _soft_attention(self, alignment: MonotonicAlignment, energy: Tensor) -> Tensor:
        return chunkwise_attention(alignment.alpha, energy, self.chunk_size)


class MAtChAConfig(MonotonicConfig):
    name: Literal["matcha"] = "matcha"  # type: ignore[assignment]


class MAtChA(Chunkwise):
    """Monotonic adaptive chunkwise attention: from the last stop to this one, both included."""

    Config = MAtChAConfig
    opts_into = ("forward", "monotonic")
    lookback = sys.maxsize
    since_last_stop = True

    def _soft_attention(self, alignment: MonotonicAlignment, energy: Tensor) -> Tensor:
        previous, p_choose, alpha, hard = alignment
        if not hard:
            return adaptive_chunkwise_attention(previous, p_choose, energy)
        # Both stops are known, one-hot, or all zeros for none: the softmax from the one to the other, O(S) per step.
        reached = previous.cumsum(-1) > 0
        after_stop = (alpha.cumsum(-1) - alpha) > 0
        return masked_softmax(energy, reached & ~after_stop & alpha.any(-1, keepdim=True))


class MILkConfig(MonotonicConfig):
    name: Literal["milk"] = "milk"  # type: ignore[assignment]
    latency_weight: float = Field(0.1, ge=0, le=1e6)
    """As in `MonotonicConfig`. Without it nothing makes the pointer stop early."""


class MILk(Chunkwise):
    """Monotonic infinite lookback: from the beginning of the source to the stop."""

    Config = MILkConfig
    opts_into = ("forward", "monotonic")
    lookback = sys.maxsize

    def _soft_attention(self, alignment: MonotonicAlignment, energy: Tensor) -> Tensor:
        return infinite_lookback_attention(alignment.alpha, energy)
