"""Soft attention over all positions from the last stop of a monotonic pointer to this one: MAtChA (Chiu & Raffel 2018,
appendix C)."""

import sys
from typing import Literal

from torch import Tensor

from mt.models.attention.mocha import Chunkwise
from mt.models.attention.monotonic import MonotonicAlignment, MonotonicConfig
from mt.ops import adaptive_chunkwise_attention, hard_adaptive_chunkwise_attention


class MAtChAConfig(MonotonicConfig):
    name: Literal["matcha"] = "matcha"  # type: ignore[assignment]


class MAtChA(Chunkwise):
    """Monotonic adaptive chunkwise attention: from the last stop to this one, both included."""

    Config = MAtChAConfig
    opts_into = ("forward", "monotonic")
    lookback = sys.maxsize
    since_last_stop = True

    def _soft_attention(self, alignment: MonotonicAlignment, energy: Tensor) -> Tensor:
        if alignment.hard:
            return hard_adaptive_chunkwise_attention(alignment.previous, alignment.alpha, energy)
        return adaptive_chunkwise_attention(alignment.previous, alignment.p_choose, energy)
