"""What training pays for where an attention attends, beside the cross entropy."""

from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor

from mt.ops import coverage_loss, doubly_stochastic_loss


class WeightPenalties(NamedTuple):
    """The weights of the losses on an attention's weights; see the options of these names in `ModelConfig`."""

    doubly_stochastic_weight: float
    coverage_weight: float

    def loss(
        self, weights: Float[Tensor, "B T S"], source_mask: Bool[Tensor, "B S"], target_mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, ""]:
        """Returns what is to be paid for the attention of a batch, in nats."""
        total = weights.new_zeros(())
        if self.doubly_stochastic_weight:
            spread = doubly_stochastic_loss(weights, source_mask, target_mask).sum()
            total = total + self.doubly_stochastic_weight * spread
        if self.coverage_weight:
            total = total + self.coverage_weight * coverage_loss(weights, source_mask, target_mask).sum()
        return total
