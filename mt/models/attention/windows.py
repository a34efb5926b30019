"""Windows of a source: some positions of each row, without a tensor as long as the source."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def window(part: Tensor, begin: Int[Tensor, " R"], size: int, rows: Int[Tensor, " R"] | None = None) -> Tensor:
    """[R, size, ...]: columns begin .. begin + size - 1 of some rows of part [B, S, ...], by default of all.

    Beyond the last column it repeats that; of a part with one row it is a view, cut at the last column.
    """
    if len(part) == 1:
        column = int(begin)
        return part[:, column : column + size]
    columns = begin[:, None] + torch.arange(size, device=begin.device)
    rows = torch.arange(len(part), device=begin.device) if rows is None else rows
    return part[rows[:, None], columns.clamp(max=part.shape[1] - 1)]


def real(mask: Tensor, begin: Int[Tensor, " R"], size: int, rows: Int[Tensor, " R"]) -> Int[Tensor, " R"]:
    """How many of the columns begin .. begin + size - 1 of some rows of mask [B, S] are real positions."""
    inside = window(mask, begin, size, rows)
    if len(mask) > 1:
        inside = inside & (begin[:, None] + torch.arange(size, device=begin.device) < mask.shape[1])
    return inside.sum(1)


def scattered(weights: Float[Tensor, "B W"], first: Int[Tensor, " B"], width: int) -> Float[Tensor, "B S"]:
    """Weights [B, S] over whole sources of `width` positions, from those of windows that begin at `first`."""
    columns = first[:, None] + torch.arange(weights.shape[1], device=first.device)
    # Room for a window that goes on beyond the end, where its weights are 0.
    whole = weights.new_zeros(len(weights), width + weights.shape[1])
    return whole.scatter(1, columns, weights)[:, :width]
