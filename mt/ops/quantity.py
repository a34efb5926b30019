"""Does a monotonic attention select as many positions as there are target tokens? A term of the loss."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mt.kernels.precision import compute_dtype, result_dtype


def quantity_loss(alpha: Float[Tensor, "B T S"], target_mask: Bool[Tensor, "B T"]) -> Float[Tensor, " B"]:
    """| T - sum over i and j of alpha[i, j] | of each row, with its T real target tokens (Inaguma et al. 2020,
    "CTC-synchronous training for monotonic attention model", quantity regularisation).

    alpha: the probability of stopping at each position. Rows of it that are lost since the pointer has left the source
    make the sum smaller than T. Returns target tokens.

    Computed in float64 (MPS: float32); returned in float32, or float64 where `alpha` is float64.
    """
    selected = alpha.sum(-1, dtype=compute_dtype(alpha.device))
    missing = torch.where(target_mask, 1 - selected, 0.0).sum(-1)
    return missing.abs().to(result_dtype(alpha))
