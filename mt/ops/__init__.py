"""Pure functions of tensors: the arithmetic that attention mechanisms are made of."""

from mt.ops.chunks import spread
from mt.ops.expected import expected_alignment
from mt.ops.softmax import masked_softmax

__all__ = ["expected_alignment", "masked_softmax", "spread"]
