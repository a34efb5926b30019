"""A source as attention sees it, and how that grows while the source arrives."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.functional import pad

from mt.models.attention.windows import window


class Memory(NamedTuple):
    """A source as attention sees it."""

    keys: tuple[Tensor, ...]
    """What energies compare queries with, projected once per source; each [B, S, ...]."""
    values: Tensor
    """[B, S, V]: what contexts are made of."""
    mask: Tensor
    """[B, S] bool, S at least 1: true on real positions, the EOS included; padding is on the right. A source of which
    nothing is known yet has none."""
    complete: Tensor | None = None
    """[B] bool: false where the source goes on (see `Attention.extend`); None: all sources are complete."""
    first: Tensor | None = None
    """[B] int64: the source position of column 0, where earlier ones were dropped (see `Attention.trim`); None: 0."""
    visible_from: Tensor | None = None
    """[B, S] int64: the first target step, counted from 0, that may attend to each position, for the attentions that
    support wait-k; None: every step may attend to all of them."""

    def visible(self, steps: Int[Tensor, "B T"]) -> Bool[Tensor, "B _ S"]:
        """The real positions that each of these target steps, counted from 0, may attend to."""
        if self.visible_from is None:
            return self.mask[:, None]
        return self.mask[:, None] & (self.visible_from[:, None] <= steps[..., None])


def joined(memory: Memory, added: Memory) -> Memory:
    """Sources with their next positions, which are padding alone where a source has none yet: at least one column."""
    together = (_appended if len(memory.mask) == 1 else _interleaved)(memory, added)
    return with_a_column(together)


def with_a_column(memory: Memory) -> Memory:
    """The memory, or one column of padding where it has no column: steps may be taken before anything is encoded."""
    if memory.mask.shape[1]:
        return memory
    keys, values, mask = (
        tuple(pad(part, ((0, 0) * (part.dim() - 2) + (0, 1))) for part in parts)
        for parts in (memory.keys, (memory.values,), (memory.mask,))
    )
    return memory._replace(keys=keys, values=values[0], mask=mask[0])


def _appended(memory: Memory, added: Memory) -> Memory:
    """One source with its next positions."""
    old, new = int(memory.mask.sum()), int(added.mask.sum())

    def joined(before: Tensor, after: Tensor) -> Tensor:
        return torch.cat((before[:, :old], after[:, :new]), 1)

    keys = tuple(joined(before, after) for before, after in zip(memory.keys, added.keys, strict=True))
    return Memory(keys, joined(memory.values, added.values), joined(memory.mask, added.mask))


def _interleaved(memory: Memory, added: Memory) -> Memory:
    """Sources with their next positions. Padding goes to the right: a row with fewer old positions than others would
    have a gap before its new ones."""
    mask = torch.cat((memory.mask, added.mask), 1)
    order = (~mask).to(torch.uint8).argsort(stable=True, dim=1)[:, : int(mask.sum(1).max())]

    def joined(before: Tensor, after: Tensor) -> Tensor:
        both = torch.cat((before, after), 1)
        index = order.view(*order.shape, *(1 for _ in both.shape[2:]))
        return both.gather(1, index.expand(-1, -1, *both.shape[2:]))

    keys = tuple(joined(before, after) for before, after in zip(memory.keys, added.keys, strict=True))
    return Memory(keys, joined(memory.values, added.values), mask.gather(1, order))


def drop_prefix(memory: Memory, needed: Sequence[int]) -> Memory:
    """The memory without the positions of each source before `needed`."""
    first = [0] * len(needed) if memory.first is None else memory.first.tolist()
    dropped = [max(0, position - column) for position, column in zip(needed, first, strict=True)]
    if not any(dropped):
        return memory
    added = torch.tensor(dropped, device=memory.mask.device)
    left = memory.mask.sum(1) - added
    size = int(left.max())
    return memory._replace(
        keys=tuple(window(part, dropped, size) for part in memory.keys),
        values=window(memory.values, dropped, size),
        mask=torch.arange(size, device=left.device) < left[:, None],
        first=added if memory.first is None else memory.first + added,
    )
