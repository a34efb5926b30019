"""Trees: tensors nested in (named) tuples, as memories and states of models are; None stands for no tensor."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import torch
from torch import Tensor
from torch.nn.functional import pad

Tree = TypeVar("Tree")


def mapped(function: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """The tree with `function` applied to each of its tensors; the types of named tuples are kept, None stays None."""
    if tree is None:
        return tree
    if isinstance(tree, Tensor):
        return cast(Tree, function(tree))
    if not isinstance(tree, tuple):
        raise TypeError(f"memory and state are nested tuples of tensors or None, got {type(tree).__name__}")
    parts = [mapped(function, part) for part in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)


def select(tree: Tree, index: Tensor) -> Tree:
    """The rows `index` ([N] int64) of every tensor."""
    return mapped(lambda tensor: tensor.index_select(0, index), tree)


def kept_rows(tree: Tree, rows: Sequence[int], count: int, device: torch.device) -> Tree:
    """Some rows of a batch of `count`, in order, holding no memory of the others; all of them are the tree itself."""
    return tree if len(rows) == count else select(tree, torch.tensor(rows, dtype=torch.int64, device=device))


def concatenated(trees: Sequence[Tree]) -> Tree:
    """The rows of several trees of one structure as one batch. Where second dimensions differ, as those of memories do,
    the shorter ones are padded on the right with zeros, which are false in a mask."""
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
    parts = [concatenated(parts) for parts in zip(*cast(Sequence[tuple], trees), strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else cast(Tree, tuple(parts))


def stored_numbers(tree: Any) -> int:
    """How many numbers the tensors of a tree keep in memory, those that a view does not show among them."""
    if isinstance(tree, Tensor):
        return tree.untyped_storage().nbytes() // tree.element_size()
    return sum(stored_numbers(part) for part in tree) if isinstance(tree, tuple) else 0
