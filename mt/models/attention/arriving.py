"""The memory of a source that is still arriving: it grows at its end, and what no later step can use is dropped."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor
from torch.nn.functional import pad

from mt.kernels.padding import append
from mt.models.attention.base import Attention, State
from mt.models.attention.memory import Memory
from mt.models.attention.windows import window
from mt.models.encoders import Encoded


def extend(attention: Attention, memory: Memory | None, encoded: Encoded, complete: Bool[Tensor, " B"]) -> Memory:
    """Returns the memory of sources that have grown by the newly encoded positions.

    memory: of the positions before, None where there are none; complete: which sources end with these. Hard steps of
    monotonic mechanisms return NEEDS_MORE_SOURCE where the positions so far do not decide them.
    """
    if memory is None:
        return _with_a_column(attention.init_memory(encoded))._replace(complete=complete)
    lengths = memory.mask.sum(1)
    before = lengths if memory.first is None else lengths + memory.first
    added = attention.init_memory(encoded._replace(first_position=before))
    parts, mask = append((*memory.keys, memory.values), memory.mask, (*added.keys, added.values), added.mask)
    return Memory(parts[:-1], parts[-1], mask, complete=complete, first=memory.first)


def trim(attention: Attention, memory: Memory, state: State) -> Memory:
    """Returns the memory without the positions that no later hard step can use. state: that of the next step.

    Whatever a step says of positions counts from the beginning of the source, before and after.
    """
    needed = attention.first_needed(state)
    return memory if needed is None else drop_prefix(memory, needed)


def drop_prefix(memory: Memory, needed: Sequence[int]) -> Memory:
    """Returns the memory without the positions of each source before `needed`."""
    first = [0] * len(needed) if memory.first is None else memory.first.tolist()
    dropped = [max(0, position - column) for position, column in zip(needed, first, strict=True)]
    if not any(dropped):
        return memory
    shift = torch.tensor(dropped, device=memory.mask.device)
    lengths = memory.mask.sum(1) - shift
    size = int(lengths.max())
    return memory._replace(
        keys=tuple(window(part, dropped, size) for part in memory.keys),
        values=window(memory.values, dropped, size),
        mask=torch.arange(size, device=lengths.device) < lengths[:, None],
        first=shift if memory.first is None else memory.first + shift,
    )


def _with_a_column(memory: Memory) -> Memory:
    """Returns the memory, or one column of padding where it has no column: steps may be taken before anything is
    encoded."""
    if memory.mask.shape[1]:
        return memory
    keys, values, mask = (
        tuple(pad(part, ((0, 0) * (part.dim() - 2) + (0, 1))) for part in parts)
        for parts in (memory.keys, (memory.values,), (memory.mask,))
    )
    return memory._replace(keys=keys, values=values[0], mask=mask[0])
