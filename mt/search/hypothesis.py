"""What search asks of a model, and what it hands back.

Search knows no model: anything with `init_state` and `step` can be searched. Rows of a batch are hypotheses; a search
keeps, drops and reorders them with `select`, whatever the model's memory and state are made of.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, TypeVar, cast

import torch
from torch import Tensor

from mt.search import limits
from mt.search.faults import not_finite
from mt.search.windows import Windows

PAD, BOS, EOS = 0, 2, limits.EOS
NEVER = (PAD, BOS)
"""What follows no token."""
BLOCK, MANY = 64, 1 << 16
"""Logits of which the largest is found first, and those from which on that is worth its calls; see `_largest`."""

Tree = TypeVar("Tree")


class Prediction(Protocol):
    """What a decoder says about the next token of N hypotheses; any object with these attributes will do."""

    @property
    def logits(self) -> Tensor:
        """[N, V], unnormalised."""

    @property
    def weights(self) -> Tensor:
        """[N, W], the attention of this step: of W positions from `first` on."""

    @property
    def stops(self) -> Tensor | None:
        """[N] int64, where a hard attention stopped, -1 where it selected nothing; None if it is soft."""

    @property
    def state(self) -> Any:
        """Batch-first tensors, arbitrarily nested in tuples."""

    @property
    def first(self) -> Tensor | None:
        """[N] int64, the source position of the weights' first column; None: 0, and W = S. Given with `stops` alone,
        and nothing after the stop is attended to then."""

    @property
    def energies(self) -> Tensor | None:
        """[N] int64, how many energies the step took to find its stop; None where all of the source was compared."""


class Decoder(Protocol):
    """A model as search sees it. `memory` and states are (named) tuples of batch-first tensors, nested at will."""

    def init_state(self, memory: Any) -> Any:
        """The state before the first step."""

    def step(self, tokens: Tensor, memory: Any, state: Any) -> Prediction:
        """One target step; tokens: [N] int64, the previous token of each hypothesis (BOS at first)."""


@dataclass(frozen=True)
class Hypothesis:
    """One output sentence with its alignment.

    tokens: without BOS; with EOS unless the sentence was cut at its maximum length.
    log_prob: natural logarithm of the model's probability of `tokens`. score: what hypotheses are ranked by.
    windows: the attention weights of each token; of a soft attention, over the padded width of the batch.
    stops: [T] int64 on the CPU, where a hard attention stopped (-1 where nowhere); None if it is soft.
    energies: how many a hard monotonic attention computed to find its stops; None for other ones.
    """

    tokens: tuple[int, ...]
    log_prob: float
    score: float
    windows: Windows
    stops: Tensor | None
    energies: int | None

    @property
    def cut(self) -> bool:
        """Whether its limit ended it."""
        return limits.is_cut(self.tokens)

    @property
    def weights(self) -> Tensor:
        """[T, S] float32, made anew: S as far as anything could be attended to."""
        return torch.from_numpy(self.windows.dense())


def select(tree: Tree, index: Tensor) -> Tree:
    """The rows `index` of every tensor in nested tuples; the types of named tuples are kept, None stays None."""
    if tree is None:
        return tree
    if isinstance(tree, Tensor):
        return cast(Tree, tree.index_select(0, index))
    if not isinstance(tree, tuple):
        raise TypeError(f"memory and state are nested tuples of tensors or None, got {type(tree).__name__}")
    parts = [select(part, index) for part in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)


def top_k(logits: Tensor, count: int, forbidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The `count` most probable next tokens of each row and their log-probabilities, both [N, count], best first.

    PAD, BOS and what is `forbidden` ([N, V] bool) are never chosen, but keep their share of the probability:
    log-probabilities are the model's own.
    Computed in float32 whatever the type of `logits` [N, V]. Raises UserError where they are not finite.
    """
    # One pass, where logsumexp takes three; what it gives is new, and may be written to.
    log_probs = logits.float().log_softmax(-1).index_fill_(1, _never(logits.device), -torch.inf)
    if forbidden is not None:
        log_probs.masked_fill_(forbidden, -torch.inf)
    best, tokens = _largest(log_probs, count)
    # topk ranks NaN highest, so that the first column shows whatever is wrong with a row.
    if not math.isfinite(best[:, 0].sum()):
        raise not_finite()
    return best, tokens


def _largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest of each row of [N, V], and where they are, largest first. NaN is larger than any number.

    Of many, the largest of blocks are found first, since that is vectorised on a CPU, and the others looked at in their
    blocks alone.
    """
    whole = values.shape[1] // BLOCK
    if values.numel() < MANY or whole < 4 * count:
        return _top(values, count)
    rest = whole * BLOCK
    blocks = values[:, :rest].unflatten(1, (whole, BLOCK))
    best, chosen = _top(blocks.amax(-1), count)
    if count == 1 and rest == values.shape[1]:
        rows = torch.arange(len(values), device=values.device)
        return best, BLOCK * chosen + blocks[rows, chosen[:, 0]].argmax(1, keepdim=True)
    inside, others = _places(rest, values.shape[1], values.device)
    ids = torch.cat(((chosen[:, :, None] * BLOCK + inside).flatten(1), others.expand(len(values), -1)), 1)
    best, order = _top(values.gather(1, ids), count)
    return best, ids.gather(1, order)


def _top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`topk`, whose time for a single one is more than twice that of `max`."""
    return values.max(1, keepdim=True) if count == 1 else values.topk(count)


@cache
def _never(device: torch.device) -> Tensor:
    return torch.tensor(NEVER, device=device)


@cache
def _places(rest: int, size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The numbers of the first block, and those after all blocks."""
    return torch.arange(BLOCK, device=device), torch.arange(rest, size, device=device)
