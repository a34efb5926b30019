"""Does an attention come back to what it has attended to before? A term of the loss."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mt.kernels.precision import compute_dtype, result_dtype


def coverage_loss(
    weights: Float[Tensor, "B T S"], source_mask: Bool[Tensor, "B S"], target_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """Returns the sum over t and i of min(weights[t, i], sum over t' < t of weights[t', i]) of each row, over its real
    steps t and positions i (See et al. 2017, equations 10 and 12).

    weights: the attention of each step, of which the loss is differentiated. Where both sides of the minimum are equal,
    each has half of the gradient.

    Computed in float64 (MPS: float32); returned in float32, or float64 where `weights` is float64.
    """
    real = target_mask[..., None] & source_mask[:, None]
    attended = weights.to(compute_dtype(weights.device)).masked_fill(~real, 0.0)
    coverage = attended.cumsum(1) - attended
    return torch.minimum(attended, coverage).sum((1, 2)).to(result_dtype(weights))
