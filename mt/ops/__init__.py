"""Pure functions of tensors: the arithmetic that attention mechanisms are made of."""

from mt.ops.additive import additive_energy
from mt.ops.between import spread_between
from mt.ops.chunks import spread
from mt.ops.cross_entropy import token_losses
from mt.ops.expected import expected_alignment
from mt.ops.lagging import differentiable_average_lagging
from mt.ops.lookback import look_back
from mt.ops.scan import linear_scan
from mt.ops.softmax import masked_softmax

__all__ = [
    "additive_energy",
    "differentiable_average_lagging",
    "expected_alignment",
    "linear_scan",
    "look_back",
    "masked_softmax",
    "spread",
    "spread_between",
    "token_losses",
]
