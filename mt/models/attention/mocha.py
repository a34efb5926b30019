"""Soft attention over a chunk that ends where a monotonic pointer stops: MoChA (Chiu & Raffel 2018), and its base class
with the mechanisms of `lookback.py`, whose chunks have no fixed size."""

from abc import abstractmethod
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field
from torch import Tensor

from mt.common.options import MAX_SIZE
from mt.models.attention.base import Memory
from mt.models.attention.energy import Energy, Scaled, build_energy
from mt.models.attention.monotonic import Monotonic, MonotonicAlignment, MonotonicConfig
from mt.models.encoders.base import Encoded
from mt.ops.chunkwise import chunkwise_attention


class Chunkwise(Monotonic):
    """The soft attention over the chunk has a second energy, of the same kind but with other parameters (Chiu & Raffel
    2018, section 2.3, appendix A)."""

    Config: ClassVar[type[BaseModel]]
    chunk_energy: Energy

    def __init__(self, config: MonotonicConfig, query_size: int, value_size: int) -> None:
        super().__init__(config, query_size, value_size)
        self.chunk_energy = Scaled(build_energy(config.energy, query_size, value_size, normalized=True))

    def init_memory(self, encoded: Encoded) -> Memory:
        keys = (self.energy.keys(encoded), self.chunk_energy.keys(encoded))
        return Memory(keys, encoded.values, encoded.mask)

    def _weights(self, alignment: MonotonicAlignment, queries: Tensor, memory: Memory) -> Tensor:
        # Padding needs no mask: it comes after every stop, and nothing after a stop is attended to.
        return self._soft_attention(alignment, self.chunk_energy(queries, memory.keys[1]))

    @abstractmethod
    def _soft_attention(self, alignment: MonotonicAlignment, energy: Tensor) -> Tensor:
        """Returns the expected weights over all stops, [B, T, S]. energy: [B, T, S]."""


class MoChAConfig(MonotonicConfig):
    name: Literal["mocha"] = "mocha"  # type: ignore[assignment]
    chunk_size: Annotated[int, "positions"] = Field(4, gt=0, le=MAX_SIZE)
    """w: positions in a chunk (Chiu & Raffel 2018: 2 for speech, 8 for summaries). 1 is hard monotonic attention."""


class MoChA(Chunkwise):
    """Monotonic chunkwise attention: the `chunk_size` positions that end at the stop."""

    Config = MoChAConfig
    chunk_size: int

    def __init__(self, config: MoChAConfig, query_size: int, value_size: int) -> None:
        super().__init__(config, query_size, value_size)
        self.chunk_size = config.chunk_size
        self.lookback = config.chunk_size - 1

    def _soft_attention(self, alignment: MonotonicAlignment, energy: Tensor) -> Tensor:
        # Each stop spreads its probability over the softmax of its chunk.
        return chunkwise_attention(alignment.alpha, energy, self.chunk_size)
