"""The most probable next tokens, of a model's logits in torch."""

import math
from functools import cache

import numpy as np
import torch
from torch import Tensor

from mt.search.faults import not_finite
from mt.search.hypothesis import NEVER_CHOSEN

BLOCK = 64
MANY = 1 << 16
"""Blocks of how many logits are searched by their maxima, and from how many logits on that pays; see `_largest`."""


def top_k(logits: Tensor, count: int, forbidden: tuple[np.ndarray, np.ndarray] | None = None) -> tuple[Tensor, Tensor]:
    """Returns the log-probabilities of the `count` most probable next tokens of each row, and these tokens, both
    [N, count], best first.

    PAD, BOS and what is `forbidden` (rows and tokens) are never chosen, but keep their share of the probability:
    log-probabilities are the model's own.
    Computed in float32 whatever the type of `logits` [N, V]. Raises UserError where they are not finite.
    """
    # One pass, where logsumexp takes three; what it gives is new, and may be written to.
    log_probs = logits.float().log_softmax(-1).index_fill_(1, _never_chosen(logits.device), -torch.inf)
    if forbidden is not None:
        rows, tokens = (torch.from_numpy(part).to(logits.device) for part in forbidden)
        log_probs[rows, tokens] = -torch.inf
    best, tokens = _largest(log_probs, count)
    # topk ranks NaN highest, so that the first column shows whatever is wrong with a row.
    if not math.isfinite(best[:, 0].sum()):
        raise not_finite()
    return best, tokens


def _largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Returns the `count` largest values of each row of [N, V] and their columns, largest first. NaN is larger than any
    number.

    Of many values, the maxima of blocks are computed first, which is vectorised on a CPU; the largest values are in the
    blocks with the largest maxima.
    """
    whole = values.shape[1] // BLOCK
    if values.numel() < MANY or whole < 4 * count:
        return _top(values, count)
    rest = whole * BLOCK
    blocks = values[:, :rest].unflatten(1, (whole, BLOCK))
    best, chosen = _top(blocks.amax(-1), count)
    if count == 1 and rest == values.shape[1]:
        rows = torch.arange(len(values), device=values.device)
        return best, BLOCK * chosen + blocks[rows, chosen[:, 0]].argmax(1, keepdim=True)
    inside, others = _columns(rest, values.shape[1], values.device)
    ids = torch.cat(((chosen[:, :, None] * BLOCK + inside).flatten(1), others.expand(len(values), -1)), 1)
    best, order = _top(values.gather(1, ids), count)
    return best, ids.gather(1, order)


def _top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Returns what `topk` does, which takes more than twice as long for a single value as `max`."""
    return values.max(1, keepdim=True) if count == 1 else values.topk(count)


@cache
def _never_chosen(device: torch.device) -> Tensor:
    return torch.tensor(NEVER_CHOSEN, device=device)


@cache
def _columns(rest: int, size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Returns the columns of the first block, and those after all blocks."""
    return torch.arange(BLOCK, device=device), torch.arange(rest, size, device=device)
