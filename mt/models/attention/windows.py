"""Windows of a source: some positions of each row, without a tensor as long as the source; and over the whole again."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

if TYPE_CHECKING:
    from mt.models.attention.base import AttentionStep


def window(part: Tensor, begin: Sequence[int], size: int, rows: Sequence[int] | None = None) -> Tensor:
    """[R, size, ...]: columns begin .. begin + size - 1 of some rows of part [B, S, ...], by default of all.

    Beyond the last column it repeats that; of a part with one row it is a view, cut at the last column.
    """
    if part.shape[0] == 1:  # len of a tensor takes as long as a slice of it
        return part[:, begin[0] : begin[0] + size]
    columns = torch.tensor(begin, device=part.device)[:, None] + torch.arange(size, device=part.device)
    lines = torch.tensor(range(part.shape[0]) if rows is None else rows, device=part.device)
    return part[lines[:, None], columns.clamp(max=part.shape[1] - 1)]


def real(mask: Bool[Tensor, "B S"], begin: Sequence[int], size: int, rows: Sequence[int]) -> list[int]:
    """Returns how many of the columns begin .. begin + size - 1 of some rows are real positions; padding is on the
    right."""
    left = mask.shape[1]
    if left == 0:
        return [0] * len(rows)
    inside = window(mask, begin, size, rows).tolist()
    return [min(sum(flags), left - first) for flags, first in zip(inside, begin, strict=True)]


def scattered(weights: Float[Tensor, "B W"], first: Int[Tensor, " B"], width: int) -> Float[Tensor, "B S"]:
    """Returns weights [B, S] over whole sources of `width` positions, from those of windows that begin at `first`."""
    columns = first[:, None] + torch.arange(weights.shape[1], device=first.device)
    # Room for a window that goes on beyond the end, where its weights are 0.
    whole = weights.new_zeros(len(weights), width + weights.shape[1])
    return whole.scatter(1, columns, weights)[:, :width]


def stacked(steps: Sequence["AttentionStep"], width: int) -> Iterator[Any]:
    """Yields the fields of an `AttentionOutput` over whole sources of `width` positions, from those of single steps."""
    for parts in zip(*(_over_source(step, width) for step in steps), strict=True):
        yield None if parts[0] is None else torch.stack(parts, 1)


def _over_source(step: "AttentionStep", width: int) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    weights, stops, first, _ = step.attended
    weights = weights if first is None else scattered(weights, first, width)
    alpha = step.alpha
    if alpha is None and stops is not None:  # a step that gives its stop alone: one-hot, or all zeros for none
        alpha = (torch.arange(width, device=weights.device) == stops[:, None]).to(weights.dtype)
    return step.context, weights, alpha, step.p_choose
