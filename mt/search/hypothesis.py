"""What search asks of a model, what it hands back, and the record from which it reads a hypothesis.

Search knows no model: anything with `init_state` and `step` can be searched. Rows of a batch are hypotheses; a search
keeps, drops and reorders them with `select`, whatever the model's memory and state are made of.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import torch
from torch import Tensor

from mt.search.faults import not_finite
from mt.search.windows import Windows

PAD, BOS, EOS = 0, 2, 3
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
    logits = logits.float()
    allowed = logits if forbidden is None else logits.masked_fill(forbidden, -torch.inf)
    # With the two that are never chosen, so that they need no copy of all logits to be left out.
    values, ids = _largest(allowed, min(count + 2, logits.shape[1]))
    best, order = values.masked_fill((ids == PAD) | (ids == BOS), -torch.inf).topk(count)
    tokens = ids.gather(1, order)
    # In one pass, where logsumexp takes three.
    log_probs = logits.log_softmax(-1).gather(1, tokens).masked_fill(best == -torch.inf, -torch.inf)
    # topk ranks NaN highest, so that the first column shows whatever is wrong with a row.
    if not log_probs[:, 0].isfinite().all():
        raise not_finite()
    return log_probs, tokens


def _largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`values.topk(count)` of [N, V], where V is large: the largest of blocks are found first, since that is vectorised
    on a CPU, and the others looked at in their blocks alone. NaN is larger than any number."""
    whole = values.shape[1] // BLOCK
    if whole < 4 * count or values.numel() < MANY:
        return values.topk(count)
    blocks = values[:, : whole * BLOCK].unflatten(1, (whole, BLOCK))
    chosen = blocks.amax(-1).topk(count, sorted=False).indices
    inside = torch.arange(BLOCK, device=values.device)
    ids = (chosen[:, :, None] * BLOCK + inside).flatten(1)
    rest = torch.arange(whole * BLOCK, values.shape[1], device=values.device).expand(len(values), -1)
    ids = torch.cat((ids, rest), 1)
    best, order = values.gather(1, ids).topk(count)
    return best, ids.gather(1, order)


class Ends(NamedTuple):
    """Where hypotheses end in a `History`; all fields have one shape."""

    score: Tensor  # float32; -inf: no hypothesis here
    log_prob: Tensor  # float32
    length: Tensor  # int64, tokens, EOS included
    row: Tensor  # int64, the row that predicted the last token
    token: Tensor  # int64, the last token


class _Step(NamedTuple):
    tokens: Tensor  # [N] what the step was given
    parents: Tensor  # [N] the row of the step before that each row continues
    weights: Tensor  # [N, W]
    stops: Tensor | None  # [N]
    first: Tensor | None  # [N]
    energies: Tensor | None  # [N]


class History:
    """What every step saw and attended to, with back-pointers: rows may be dropped and reordered between steps.

    Nothing is copied when rows move; `backtrack` follows the pointers once, for the hypotheses asked for.
    """

    def __init__(self) -> None:
        self._steps: list[_Step] = []

    def __len__(self) -> int:
        return len(self._steps)

    def append(self, tokens: Tensor, parents: Tensor, prediction: Prediction) -> None:
        """Records a step: its input tokens [N], the row of the step before that each continues [N], and its outcome."""
        self._steps.append(
            _Step(tokens, parents, prediction.weights, prediction.stops, prediction.first, prediction.energies)
        )

    def backtrack(self, ends: Ends) -> list[Hypothesis]:
        """The hypotheses that end at `ends` (fields [H]), in that order. The record is used up and empty then."""
        row, token = torch.zeros_like(ends.row), torch.zeros_like(ends.token)
        said: list[tuple[Any, ...]] = []
        weights: list[Tensor] = []  # as `said`, of each step, the last one first
        while self._steps:
            # Freed as it is read: the weights of a long source are most of what a search keeps.
            length, step = len(self._steps), self._steps.pop()
            # Until its own last step is reached, a hypothesis follows row 0, which always exists; that part is cut off.
            row = torch.where(ends.length == length, ends.row, row)
            token = torch.where(ends.length == length, ends.token, token)
            said.append((token, *select((step.stops, step.first, step.energies), row)))
            weights.append(step.weights[row])
            token, row = step.tokens[row], step.parents[row]
        said_tokens, *parts = zip(*reversed(said), strict=True)
        tokens = torch.stack(said_tokens, 1).tolist()
        stops, first, energies = (None if part[0] is None else torch.stack(part, 1).cpu() for part in parts)
        lengths = ends.length.tolist()
        windows = _whole(weights, lengths) if first is None or stops is None else _cut(weights, first, stops, lengths)
        ranks = zip(lengths, ends.log_prob.tolist(), ends.score.tolist(), windows, strict=True)
        return [
            Hypothesis(
                tokens=tuple(tokens[i][:length]),
                log_prob=log_prob,
                score=score,
                windows=own,
                stops=None if stops is None else _owned(stops[i, :length]),
                energies=None if energies is None else int(energies[i, :length].sum()),
            )
            for i, (length, log_prob, score, own) in enumerate(ranks)
        ]


def _whole(weights: list[Tensor], lengths: list[int]) -> list[Windows]:
    """Of each hypothesis, where steps attended to all of the source. weights: of each step [H, S], the last one first;
    used up."""
    grid = weights[0].new_empty(len(lengths), len(weights), weights[0].shape[1])
    for step in range(len(weights)):
        grid[:, step] = weights.pop()
    whole = zip(grid.float().cpu(), lengths, strict=True)
    return [Windows.whole(_owned(rows[:length]).numpy()) for rows, length in whole]


def _cut(weights: list[Tensor], first: Tensor, stops: Tensor, lengths: list[int]) -> list[Windows]:
    """Of each hypothesis, where steps attended to windows, without what other rows made a window wider by.

    weights: of each step [H, W], the last one first; first, stops: [H, T].
    """
    weights.reverse()
    flat = torch.cat(weights, 1).float().cpu()
    columns = torch.cat([torch.arange(part.shape[1]) for part in weights])
    steps = torch.arange(len(weights)).repeat_interleave(torch.tensor([part.shape[1] for part in weights]))
    widths = torch.where(stops < 0, 0, stops - first + 1)
    found = []
    for i, length in enumerate(lengths):
        inside = (columns < widths[i, steps]) & (steps < length)
        parts = (flat[i, inside], _owned(first[i, :length]), _owned(widths[i, :length]))
        found.append(Windows(*(part.numpy() for part in parts)))
    return found


def _owned(part: Tensor) -> Tensor:
    """A part of a tensor, cloned unless it is the whole, so that keeping one hypothesis does not keep a batch."""
    return part if part.untyped_storage().nbytes() == part.nbytes else part.clone()
