"""The largest values of rows of many, as of logits over a vocabulary, faster than `topk`."""

from functools import cache

import torch
from torch import Tensor

BLOCK = 64
MANY = 1 << 16
"""Blocks of how many values are searched by their maxima, and from how many values on that pays."""


def largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
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
def _columns(rest: int, size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Returns the columns of the first block, and those after all blocks."""
    return torch.arange(BLOCK, device=device), torch.arange(rest, size, device=device)
