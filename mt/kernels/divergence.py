"""How far apart the predictions of the same tokens are that two passes of a model make, with its gradient.

What is compared may have less than all of the probability. P and Q are measures then, and how far they are apart is
half of the sum of (P - Q) (log P - log Q), which of whole distributions is (KL(P || Q) + KL(Q || P)) / 2.
"""

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

LEAST = 1e-9
"""What a smaller part of a probability is taken for."""


def divergences(
    log_probs: Float[Tensor, "N V"], share: Float[Tensor, "N 1"] | None = None
) -> tuple[Float[Tensor, " N//2"], Float[Tensor, "N V"], Float[Tensor, "N 1"]]:
    """Returns for each pair of predictions how far they are apart, in nats, and its gradients in the logits and in the
    shares.

    log_probs: rows 2 n and 2 n + 1 are of token n, both of the whole vocabulary. share: of each row what its
    probabilities count for; None: 1.
    """
    joint = log_probs
    if share is None:
        share = log_probs.new_ones(len(log_probs), 1)
    else:
        share = share.clamp(min=LEAST)
        joint = log_probs + share.log()
    share_p, share_q = share.unflatten(0, (-1, 2)).unbind(1)
    log_p, log_q = joint.unflatten(0, (-1, 2)).unbind(1)
    p = log_p.exp()
    q = log_q.exp()
    further = log_p - log_q
    from_p = (p * further).sum(-1, keepdim=True)
    from_q = -(q * further).sum(-1, keepdim=True)
    grad_share = torch.stack((from_p + share_p - share_q, from_q + share_q - share_p), 1).flatten(0, 1) / (2 * share)
    # In log P the derivative is (P (log P - log Q) + P - Q) / 2; in the logits, the same less its sum for each softmax.
    grad_p = (further + (share_q - from_p) / share_p).mul_(p).sub_(q)
    grad_q = further.neg_().add_((share_p - from_q) / share_q).mul_(q).sub_(p)
    return (from_p + from_q)[:, 0] / 2, torch.stack((grad_p, grad_q), 1).flatten(0, 1).div_(2), grad_share


def distance(parts: Float[Tensor, "N T S"], mask: Bool[Tensor, "N T"]) -> Float[Tensor, ""]:
    """Returns how far apart the two halves of a batch of measures are, in nats, summed over the real steps;
    differentiable. mask: true on real steps."""
    p, q = parts.chunk(2)
    log_p, log_q = parts.clamp(min=LEAST).log().chunk(2)
    return ((p - q) * (log_p - log_q)).sum(-1)[mask[: len(p)]].sum() / 2


def side_by_side(halves: Shaped[Tensor, "N T *sizes"]) -> Shaped[Tensor, "N//2 2*T *sizes"]:
    """Returns the tokens of the first half of the sequences, each followed by its fellow of the second."""
    return halves.unflatten(0, (2, -1)).movedim(0, 2).flatten(1, 2)


def one_below_the_other(tokens: Float[Tensor, "N T"]) -> Float[Tensor, "2*N T//2"]:
    """Takes `side_by_side` back."""
    return tokens.unflatten(1, (-1, 2)).movedim(2, 0).flatten(0, 1)
