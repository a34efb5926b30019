"""The memory of a source that is still arriving: it grows at its end, and what no later step can use is dropped."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor
from torch.nn.functional import pad

from mt.kernels.padding import append
from mt.models.attention.base import Attention, Memory, State
from mt.models.encoders.base import Encoded


def extend(attention: Attention, memory: Memory | None, encoded: Encoded, complete: Bool[Tensor, " B"]) -> Memory:
    """Returns the memory of sources that have grown by the newly encoded positions.

    memory: of the positions before, None where there are none; complete: which sources end with these. Hard steps of
    monotonic mechanisms return NEEDS_MORE_SOURCE where the positions so far do not decide them.
    """
    if memory is None:
        return _with_a_column(memory_of(attention, encoded))._replace(complete=complete)
    lengths = memory.mask.sum(1)
    before = lengths if memory.first is None else lengths + memory.first
    added = memory_of(attention, encoded._replace(first_position=before))
    parts, mask = append(positions(memory), memory.mask, positions(added), added.mask)
    grown = with_positions(memory, parts, mask)
    return grown._replace(complete=complete, visible_from=None, unknown=encoded.unknown)


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
    parts = [_window(part, dropped, size) for part in positions(memory)]
    mask = torch.arange(size, device=lengths.device) < lengths[:, None]
    return with_positions(memory, parts, mask)._replace(first=shift if memory.first is None else memory.first + shift)


def _window(part: Tensor, begin: Sequence[int], size: int) -> Tensor:
    """Returns columns begin .. begin + size - 1 of the rows of part [B, S, ...], as [B, size, ...].

    Beyond the last column it repeats that; of a part with one row it is a view, cut at the last column.
    """
    if part.shape[0] == 1:  # len of a tensor takes as long as a slice of it
        return part[:, begin[0] : begin[0] + size]
    columns = torch.tensor(begin, device=part.device)[:, None] + torch.arange(size, device=part.device)
    lines = torch.arange(part.shape[0], device=part.device)
    return part[lines[:, None], columns.clamp(max=part.shape[1] - 1)]


def positions(memory: Memory) -> list[Tensor]:
    """Returns the tensors that have something of each position, [B, S, ...], but for the mask."""
    return [*memory.keys, memory.values, *(() if memory.tokens is None else (memory.tokens,))]


def with_positions(memory: Memory, parts: Sequence[Tensor], mask: Bool[Tensor, "B S"]) -> Memory:
    """Returns the memory with other positions: `parts` are what `positions` returns of it."""
    *keys, values = parts[: len(memory.keys) + 1]
    return memory._replace(
        keys=tuple(keys), values=values, mask=mask, tokens=None if memory.tokens is None else parts[-1]
    )


def memory_of(attention: Attention, encoded: Encoded) -> Memory:
    """Returns the memory of an attention, with the tokens that a decoder may copy."""
    return attention.init_memory(encoded)._replace(tokens=encoded.tokens, unknown=encoded.unknown)


def _with_a_column(memory: Memory) -> Memory:
    """Returns the memory, or one column of padding where it has no column: steps may be taken before anything is
    encoded."""
    if memory.mask.shape[1]:
        return memory
    *parts, mask = (pad(part, ((0, 0) * (part.dim() - 2) + (0, 1))) for part in (*positions(memory), memory.mask))
    return with_positions(memory, parts, mask)
