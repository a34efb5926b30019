"""Rows of batches: the memories and states of sessions, each a batch of one, are put together and taken apart.

As in search, a tree is a tensor, None, or (named) tuples of trees; every tensor is batch-first.
"""

from collections.abc import Sequence
from typing import Any, TypeVar, cast

import torch
from torch import Tensor
from torch.nn.functional import pad

from mt.models.decoders import DecoderMemory
from mt.search.hypothesis import select

Tree = TypeVar("Tree")


def joined(trees: Sequence[Tree]) -> Tree:
    """The rows of several batches as one batch. Where second dimensions differ, as those of memories do, the shorter
    ones are padded on the right with zeros, which are false in a mask."""
    first: Any = trees[0]
    if len(trees) == 1 or first is None:
        return first
    if isinstance(first, Tensor):
        tensors = cast(Sequence[Tensor], trees)
        if first.dim() > 1:
            width = max(tensor.shape[1] for tensor in tensors)
            others = (0, 0) * (first.dim() - 2)
            tensors = [pad(tensor, (*others, 0, width - tensor.shape[1])) for tensor in tensors]
        return cast(Tree, torch.cat([*tensors]))
    parts = [joined(parts) for parts in zip(*cast(Sequence[tuple], trees), strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else cast(Tree, tuple(parts))


def picked(tree: Tree, rows: Sequence[int], count: int, device: torch.device) -> Tree:
    """Some rows, in order, of a batch of `count`, keeping nothing of the others; all of them are the tree itself."""
    return tree if len(rows) == count else select(tree, torch.tensor(rows, dtype=torch.int64, device=device))


def memory_row(memory: DecoderMemory, index: int) -> DecoderMemory:
    """One row of a memory, without padding, but for one column where nothing is encoded yet."""
    one = picked(memory, [index], len(memory.final_state), memory.final_state.device)
    attention = one.attention
    length = max(1, int(attention.mask.sum()))
    if length == attention.mask.shape[1]:
        return one
    keys = tuple(key[:, :length].clone() for key in attention.keys)
    values, mask = attention.values[:, :length].clone(), attention.mask[:, :length].clone()
    return one._replace(attention=attention._replace(keys=keys, values=values, mask=mask))


def elements(tree: Any) -> int:
    """How many numbers the tensors of a tree keep in memory, those that a view does not show among them."""
    if isinstance(tree, Tensor):
        return tree.untyped_storage().nbytes() // tree.element_size()
    return sum(elements(part) for part in tree) if isinstance(tree, tuple) else 0
