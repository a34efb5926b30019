"""Soft attention over all positions from the last stop of a monotonic pointer to this one: MAtChA (Chiu & Raffel 2018,
appendix C)."""

import sys
from typing import Literal

from torch import Tensor

from mt.models.attention.mocha import Chunkwise
from mt.models.attention.monotonic import MonotonicAlignment, MonotonicConfig
from mt.ops.adaptive_chunkwise import adaptive_chunkwise_attention
from mt.ops.sequences import masked_softmax


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
