"""How far apart the predictions of the same tokens are that two passes of a model make, with its gradient."""

import torch
from jaxtyping import Float
from torch import Tensor


def divergences(log_probs: Float[Tensor, "N V"]) -> tuple[Float[Tensor, " N//2"], Float[Tensor, "N V"]]:
    """Returns for each pair of predictions, (KL(p || q) + KL(q || p)) / 2 in nats, and its gradient in the logits.

    log_probs: rows 2 n and 2 n + 1 are log p and log q of token n, both of the whole vocabulary.
    """
    log_p, log_q = log_probs.unflatten(0, (-1, 2)).unbind(1)
    p = log_p.exp()
    q = log_q.exp()
    further = log_p - log_q
    from_p = (p * further).sum(-1, keepdim=True)
    from_q = -(q * further).sum(-1, keepdim=True)
    # d KL(p || q) = p (log p - log q - KL(p || q)) and d KL(q || p) = p - q, in the logits of p.
    grad_p = (further + (1 - from_p)).mul_(p).sub_(q)
    grad_q = further.neg_().add_(1 - from_q).mul_(q).sub_(p)
    return (from_p + from_q)[:, 0] / 2, torch.stack((grad_p, grad_q), 1).flatten(0, 1).div_(2)
