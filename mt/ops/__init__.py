"""The papers' mathematics: pure functions of tensors, each tested against a float64 loop (tests/ops/oracle.py)."""

from mt.ops.adaptive_chunkwise import adaptive_chunkwise_attention, hard_adaptive_chunkwise_attention
from mt.ops.chunkwise import chunkwise_attention
from mt.ops.expected import expected_alignment
from mt.ops.infinite_lookback import infinite_lookback_attention
from mt.ops.losses import (
    coverage_loss,
    differentiable_average_lagging,
    doubly_stochastic_loss,
    expected_lagging,
    quantity_loss,
)
from mt.ops.scan import linear_scan
from mt.ops.sequences import masked_softmax

__all__ = [
    "adaptive_chunkwise_attention",
    "chunkwise_attention",
    "coverage_loss",
    "differentiable_average_lagging",
    "doubly_stochastic_loss",
    "expected_alignment",
    "expected_lagging",
    "hard_adaptive_chunkwise_attention",
    "infinite_lookback_attention",
    "linear_scan",
    "masked_softmax",
    "quantity_loss",
]
