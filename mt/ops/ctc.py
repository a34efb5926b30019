"""Connectionist temporal classification (Graves et al. 2006), as an auxiliary loss of an encoder."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import ctc_loss


def ctc_losses(
    logits: Float[Tensor, "B S C"],
    source_mask: Bool[Tensor, "B S"],
    targets: Int[Tensor, "B T"],
    target_mask: Bool[Tensor, "B T"],
) -> Float[Tensor, " B"]:
    """- log p(targets | logits) of each row in nats, summed over all ways to write the targets to the positions in
    order, each at least once in a row, with blanks between (equation 8).

    0, without a gradient, where there is no way: a row with more targets, and one more between equal neighbours, than
    positions. logits: of C classes at each encoded position, the last of which is the blank. Masks: true first, then
    false. Computed in float32, or float64 where `logits` is float64.
    """
    dtype = torch.promote_types(logits.dtype, torch.float32)
    log_probs = logits.to(dtype).log_softmax(-1).transpose(0, 1)
    lengths = (source_mask.sum(1), target_mask.sum(1))
    blank = logits.shape[2] - 1
    return ctc_loss(log_probs, targets, *lengths, blank=blank, reduction="none", zero_infinity=True)
