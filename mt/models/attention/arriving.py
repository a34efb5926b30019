"""The memory of a source that is still arriving: `extend` appends new positions, and `trim` drops the first ones once
no later step can use them. Helpers for the tensors of a memory's positions follow."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor
from torch.nn.functional import pad

from mt.kernels.sequences import append
from mt.models.attention.base import Attention, Memory, State
from mt.models.encoders.base import Encoded


def extend(
    init_memory: Callable[[Encoded], Memory], memory: Memory | None, encoded: Encoded, complete: Bool[Tensor, " B"]
) -> Memory:
    """Returns the memory of sources that have grown by the newly encoded positions.

    init_memory: of an attention or a decoder. memory: of the positions before, None where there are none. complete:
    which sources end with these. Hard monotonic steps return NEEDS_MORE_SOURCE where they stop at none of the positions
    so far.
    """
    if memory is None:
        memory = init_memory(encoded)
        if not memory.mask.shape[1]:
            # Steps may come before the first position: there is one column of padding.
            columns = [pad(tensor, ((0, 0) * (tensor.dim() - 2) + (0, 1))) for tensor in positions(memory)]
            memory = with_positions(memory, columns, pad(memory.mask, (0, 1)))
        return memory._replace(complete=complete)
    # The keys of the new positions, which are numbered on from the earlier ones.
    lengths = memory.mask.sum(1)
    first_position = lengths if memory.first is None else lengths + memory.first
    added = init_memory(encoded._replace(first_position=first_position))
    tensors, mask = append(positions(memory), memory.mask, positions(added), added.mask)
    grown = with_positions(memory, tensors, mask)
    # Wait-k's `visible_from` has the columns of before; of an arriving source nothing is there that must be hidden.
    return grown._replace(complete=complete, visible_from=None, final_state=added.final_state)


def trim(attention: Attention, memory: Memory, state: State) -> Memory:
    """Returns the memory without the positions that no later hard step can use. state: before the next step.

    Positions in the results of steps count from the beginning of the source, before and after.
    """
    # The number of columns to drop, for each source.
    needed = attention.first_needed(state)
    if needed is None:
        return memory
    offsets = [0] * len(needed) if memory.first is None else memory.first.tolist()
    dropped = [max(0, position - offset) for position, offset in zip(needed, offsets, strict=True)]
    if not any(dropped):
        return memory
    # The remaining columns, moved to the left.
    shift = torch.tensor(dropped, device=memory.mask.device)
    lengths = memory.mask.sum(1) - shift
    size = int(lengths.max())
    tensors = [_window(tensor, dropped, size) for tensor in positions(memory)]
    # Where a row ends earlier than others, `_window` repeats its last column, which the mask hides.
    mask = torch.arange(size, device=lengths.device) < lengths[:, None]  # [B, size]
    return with_positions(memory, tensors, mask)._replace(first=shift if memory.first is None else memory.first + shift)


def _window(tensor: Tensor, begin: Sequence[int], size: int) -> Tensor:
    """Returns columns begin .. begin + size - 1 of a tensor [B, S, ...], as [B, size, ...].

    Beyond the last column it repeats that; for one source it is a view, cut at the last column.
    """
    if tensor.shape[0] == 1:  # len of a tensor takes as long as a slice of it
        return tensor[:, begin[0] : begin[0] + size]
    columns = torch.tensor(begin, device=tensor.device)[:, None] + torch.arange(size, device=tensor.device)  # [B, size]
    sources = torch.arange(tensor.shape[0], device=tensor.device)
    return tensor[sources[:, None], columns.clamp(max=tensor.shape[1] - 1)]


def positions(memory: Memory) -> list[Tensor]:
    """Returns the tensors of a memory that have an entry for each position, [B, S, ...], without the mask."""
    return [*memory.keys, memory.values]


def with_positions(memory: Memory, tensors: Sequence[Tensor], mask: Bool[Tensor, "B S"]) -> Memory:
    """Returns the memory with other positions. tensors: in the order of `positions`."""
    *keys, values = tensors
    return memory._replace(keys=tuple(keys), values=values, mask=mask)
