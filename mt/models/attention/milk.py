"""Soft attention over all positions up to where a monotonic pointer stops: MILk, monotonic infinite lookback
(Arivazhagan et al. 2019)."""

import sys
from typing import Literal

from pydantic import Field
from torch import Tensor

from mt.models.attention.mocha import Chunkwise
from mt.models.attention.monotonic import MonotonicAlignment, MonotonicConfig
from mt.ops.infinite_lookback import infinite_lookback_attention


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
