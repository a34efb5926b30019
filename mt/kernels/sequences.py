"""Elementary operations along padded sequences: shifts, the softmax over real positions, and positions of sequences in
a batch. Padding is on the right."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn.functional import pad

from mt.kernels.precision import result_dtype

# Shifts along the last dimension.


def shift_right(x: Float[Tensor, "*batch S"], offset: int = 1, fill: float = 0.0) -> Float[Tensor, "*batch S"]:
    """Returns y[..., j] = x[..., j - offset]; `fill` where j < offset."""
    return pad(x, (offset, 0), value=fill)[..., : x.shape[-1]] if offset else x


def shift_left(x: Float[Tensor, "*batch S"], offset: int = 1, fill: float = 0.0) -> Float[Tensor, "*batch S"]:
    """Returns y[..., j] = x[..., j + offset]; `fill` where j + offset >= S."""
    return pad(x, (0, offset), value=fill)[..., offset:] if offset else x


# Softmax over the real positions of padded sentences.


def masked_softmax(energy: Float[Tensor, "*batch S"], mask: Bool[Tensor, "..."]) -> Float[Tensor, "*batch S"]:
    """Returns the softmax over the last dimension of `energy` where `mask` is true; exactly zero elsewhere.

    A row without a true position is all zeros, as is its gradient.

    mask: broadcastable to `energy`. Computed and returned in float32, or float64 where `energy` is float64.
    """
    energy = energy.to(result_dtype(energy))
    hidden = ~mask
    # Not -inf, which would make NaN of a row without a true position.
    weights = energy.masked_fill(hidden, torch.finfo(energy.dtype).min).softmax(-1)
    return weights.masked_fill(hidden, 0.0)


# Positions of the sequences of a batch.


def last(values: Float[Tensor, "B S V"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B V"]:
    """Returns the value of the last real position of each source. For an empty source this is the first column, which
    is padding. S is at least 1."""
    return values[torch.arange(len(values), device=values.device), (lengths - 1).clamp(min=0)]


def mirrored(lengths: Int[Tensor, "*shape"], size: int) -> Int[Tensor, "*shape {size}"]:
    """Returns indices that reverse the first `lengths` of `size` positions, and keep the others."""
    positions = torch.arange(size, device=lengths.device)
    return torch.where(positions < lengths[..., None], lengths[..., None] - 1 - positions, positions)


def append(
    tensors: Sequence[Shaped[Tensor, "B P ..."]],
    mask: Bool[Tensor, "B P"],
    new_tensors: Sequence[Shaped[Tensor, "B S ..."]],
    new_mask: Bool[Tensor, "B S"],
) -> tuple[tuple[Tensor, ...], Bool[Tensor, "B N"]]:
    """Returns the tensors with the new real positions of each source behind its earlier ones, and their mask. N is at
    least 1 where S is.

    tensors, new_tensors: of the same sources, in the same order; a source may have no real position in either.
    """
    if not mask.shape[1]:
        return tuple(new_tensors), new_mask
    pairs = zip((*tensors, mask), (*new_tensors, new_mask), strict=True)
    old = mask.sum(1)
    new = new_mask.sum(1)
    size = int((old + new).max())
    # A single source has no gap to close: its new positions go behind its last real one.
    if len(mask) == 1 and size:
        count = int(old)
        joined = [torch.cat((earlier[:, :count], added[:, : size - count]), 1) for earlier, added in pairs]
    else:
        # A row with fewer old positions than others would have a gap before its new ones.
        # A stable sort by "is padding" brings the real ones to the left, in the order that they have.
        order = (~torch.cat((mask, new_mask), 1)).to(torch.uint8).argsort(stable=True, dim=1)[:, : max(1, size)]
        rows = torch.arange(len(mask), device=mask.device)[:, None]
        joined = [torch.cat(pair, 1)[rows, order] for pair in pairs]
    return tuple(joined[:-1]), joined[-1]
