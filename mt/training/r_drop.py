"""R-Drop (Liang et al. 2021): two passes of a batch, each with a dropout of its own, are to predict the same.

    L = -log p(y | x) - log q(y | x) + alpha / 2 (KL(p || q) + KL(q || p))        (equations 3 and 4)

p and q are what the two passes say of each target token; with `decoder.copy`, of the tokens that may be generated and
the positions that may be copied, which together have the probability 1. Half of L is minimised, so that it is the usual
cross entropy where nothing is dropped. Both passes are one of a batch of twice the size, with twice its activations.
"""

from torch import Tensor

from mt.data.batches import Batch
from mt.training.update import BatchLoss


class RDrop(BatchLoss):
    """The model with the loss of two passes, in the place of `BatchLoss`."""

    def forward(self, batch: Batch | None, seed: int | None) -> tuple[Tensor, Tensor]:
        """Returns half of L summed over the batch, and the means over both passes of what `BatchLoss` gives.

        batch, seed: see `BatchLoss`.
        """
        twice = None if batch is None else batch.twice(self.config.training.r_drop)
        total, sums = super().forward(twice, seed)
        return total / 2, sums / 2
