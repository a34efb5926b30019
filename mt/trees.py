"""Trees: tensors nested in (named) tuples, as memories and states of models are; None stands for no tensor."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import torch
from torch import Tensor
from torch.nn.functional import pad

Tree = TypeVar("Tree")


def map_tensors(function: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """Returns the tree with `function` applied to each of its tensors. Named tuples stay of their type, None stays."""
    if tree is None:
        return tree
    if isinstance(tree, Tensor):
        return cast(Tree, function(tree))
    if not isinstance(tree, tuple):
        raise TypeError(f"memory and state are nested tuples of tensors or None, got {type(tree).__name__}")
    branches = [map_tensors(function, branch) for branch in tree]
    # A named tuple takes its fields one by one, a plain tuple takes a sequence.
    return type(tree)(*branches) if hasattr(tree, "_fields") else type(tree)(branches)


def tensors_of(tree: Any) -> list[Tensor]:
    """Returns the tensors of a tree, from left to right."""
    if isinstance(tree, Tensor):
        return [tree]
    return [tensor for branch in tree for tensor in tensors_of(branch)] if isinstance(tree, tuple) else []


def with_tensors(tree: Tree, tensors: Sequence[Tensor]) -> Tree:
    """Returns a tree of the same structure with other tensors, given from left to right."""
    remaining = iter(tensors)
    # `map_tensors` visits the tensors in the order in which `tensors_of` lists them.
    return map_tensors(lambda _: next(remaining), tree)


def select_rows(tree: Tree, index: Tensor) -> Tree:
    """Returns the rows `index` ([N] int64) of every tensor."""
    return map_tensors(lambda tensor: tensor.index_select(0, index), tree)


def select_some(tree: Tree, rows: Sequence[int], count: int, device: torch.device) -> Tree:
    """Returns a copy of some rows of a batch of `count` rows, in their order; the tree itself where `rows` are all of
    them."""
    return tree if len(rows) == count else select_rows(tree, torch.tensor(rows, dtype=torch.int64, device=device))


def concatenate_rows(trees: Sequence[Tree]) -> Tree:
    """Returns the rows of several trees of one structure as one batch. Where second dimensions differ, as in memories,
    the shorter ones are padded on the right with zeros, which are false in a mask."""
    example: Any = trees[0]
    if len(trees) == 1 or example is None:
        return example
    if isinstance(example, Tensor):
        tensors = cast(Sequence[Tensor], trees)
        if example.dim() > 1:
            width = max(tensor.shape[1] for tensor in tensors)
            # `pad` counts dimensions from the last one back, and only the second is to grow.
            others = (0, 0) * (example.dim() - 2)
            tensors = [pad(tensor, (*others, 0, width - tensor.shape[1])) for tensor in tensors]
        return cast(Tree, torch.cat([*tensors]))
    branches = [concatenate_rows(same_place) for same_place in zip(*cast(Sequence[tuple], trees), strict=True)]
    return type(example)(*branches) if hasattr(example, "_fields") else cast(Tree, tuple(branches))


def stored_numbers(tree: Any) -> int:
    """Counts the numbers that the tensors of a tree keep in memory. A view counts with its whole storage."""
    return sum(tensor.untyped_storage().nbytes() // tensor.element_size() for tensor in tensors_of(tree))
