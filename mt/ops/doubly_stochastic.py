"""Does every part of a source get as much attention as every other? A term of the loss."""

from jaxtyping import Bool, Float
from torch import Tensor

from mt.kernels.precision import compute_dtype, result_dtype


def doubly_stochastic_loss(
    weights: Float[Tensor, "B T S"], source_mask: Bool[Tensor, "B S"], target_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """sum over i of (1 - sum over t of weights[t, i])^2 of each row, over its real positions i and steps t (Xu et al.
    2015, section 4.2.1, equation 14 without its factor).

    weights: the attention of each step, of which the loss is differentiated.

    Computed in float64 (MPS: float32); returned in float32, or float64 where `weights` is float64.
    """
    received = weights.to(compute_dtype(weights.device)).masked_fill(~target_mask[..., None], 0.0).sum(1)
    missing = (1 - received).masked_fill(~source_mask, 0.0)
    return missing.square().sum(-1).to(result_dtype(weights))
