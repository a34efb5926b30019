"""Soft attention over chunks of no fixed size, which end where a monotonic pointer stops. In MAtChA they begin at the
last stop (Chiu & Raffel 2018, appendix C), in MILk with the source (Arivazhagan et al. 2019)."""

import sys
from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor

from mt.kernels.sequences import masked_softmax
from mt.models.attention.mocha import Chunkwise
from mt.models.attention.monotonic import MonotonicAlignment, MonotonicConfig
from mt.ops.adaptive_chunkwise import adaptive_chunkwise_attention
from mt.ops.infinite_lookback import infinite_lookback_attention


class MAtChAConfig(MonotonicConfig):
    name: Literal["matcha"] = "matcha"  # type: ignore[assignment]


class MAtChA(Chunkwise):
    """Monotonic adaptive chunkwise attention: from the last stop to this one, both included."""

    Config = MAtChAConfig
    # Larger than any stop, so that `stop - lookback` is cut at 0, or at the last stop.
    lookback = sys.maxsize
    since_last_stop = True

    def _soft_attention(self, alignment: MonotonicAlignment, energy: Tensor) -> Tensor:
        previous, p_choose, alpha, hard = alignment
        if not hard:
            return adaptive_chunkwise_attention(previous, p_choose, energy)
        # Both stops are known: one-hot, or all zeros where nothing was selected. A softmax between them is O(S) a step.
        # True from the last stop on, and strictly behind this one.
        reached = previous.cumsum(-1) > 0  # [B, T, S]
        after_stop = (alpha.cumsum(-1) - alpha) > 0
        return masked_softmax(energy, reached & ~after_stop & alpha.any(-1, keepdim=True))


class MILkConfig(MonotonicConfig):
    name: Literal["milk"] = "milk"  # type: ignore[assignment]
    latency_weight: Annotated[float, "nats per token"] = Field(0.1, ge=0, le=1e6)
    """lambda, the weight of the latency loss, in nats for each source token of expected lagging (Arivazhagan et al.
    2019, section 3.3: 0.01 to 0.75). At 0 nothing makes the pointer stop early."""


class MILk(Chunkwise):
    """Monotonic infinite lookback: from the beginning of the source to the stop."""

    Config = MILkConfig
    lookback = sys.maxsize

    def _soft_attention(self, alignment: MonotonicAlignment, energy: Tensor) -> Tensor:
        return infinite_lookback_attention(alignment.alpha, energy)
