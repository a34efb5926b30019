"""MoChA, monotonic chunkwise attention: soft attention over a short chunk that ends where the hard attention stops
(Chiu & Raffel 2018)."""

from typing import Literal

from pydantic import Field
from torch import Tensor

from mt.models.attention.base import Memory
from mt.models.attention.energy import Scaled, build_energy
from mt.models.attention.monotonic import Monotonic, MonotonicConfig
from mt.ops import spread


class MoChAConfig(MonotonicConfig, frozen=True, extra="forbid", strict=True):
    name: Literal["mocha"] = "mocha"  # type: ignore[assignment]
    width: int = Field(4, gt=0)
    """w: positions in a chunk (Chiu & Raffel 2018: 2 for speech, 8 for summaries). 1 is hard monotonic attention."""


class MoChA(Monotonic):
    """The chunk has an energy of its own, of the same kind (Chiu & Raffel 2018, section 2.3 and appendix A)."""

    Config = MoChAConfig
    width: int

    def __init__(self, config: MoChAConfig, query_size: int, value_size: int) -> None:
        super().__init__(config, query_size, value_size)
        self.width = config.width
        self.chunk_energy = Scaled(build_energy(config.energy, query_size, value_size, normalized=True))

    def remember(self, values: Tensor, mask: Tensor) -> Memory:
        keys = (self.energy.energy.keys(values), self.chunk_energy.energy.keys(values))
        return Memory(keys, values, mask)

    def _weights(self, alpha: Tensor, queries: Tensor, memory: Memory) -> Tensor:
        energy = self.chunk_energy(queries, memory.keys[1])
        # Chunks end on real positions, so padding to their right is never inside one.
        return spread(alpha, energy, self.width)
