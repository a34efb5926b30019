"""What search asks of a model, what it hands back, and the record from which it reads a hypothesis.

Search knows no model: anything with `init_state` and `step` can be searched. Rows of a batch are hypotheses; a search
keeps, drops and reorders them with `select`, whatever the model's memory and state are made of.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import torch
from torch import Tensor

from mt.errors import UserError

PAD, BOS, EOS = 0, 2, 3

Tree = TypeVar("Tree")


class Prediction(Protocol):
    """What a decoder says about the next token of N hypotheses; any object with these attributes will do."""

    @property
    def logits(self) -> Tensor:
        """[N, V], unnormalised."""

    @property
    def weights(self) -> Tensor:
        """[N, S], the attention of this step."""

    @property
    def stops(self) -> Tensor | None:
        """[N] int64, where a hard monotonic attention stopped, -1 where it selected nothing; None if it is soft."""

    @property
    def state(self) -> Any:
        """Batch-first tensors, arbitrarily nested in tuples."""


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
    weights: [T, S] float32 on the CPU, the attention weights of each token; S is the padded width of the batch.
    stops: [T] int64 on the CPU, where a hard attention stopped (-1 where nowhere); None if it is soft.
    """

    tokens: tuple[int, ...]
    log_prob: float
    score: float
    weights: Tensor
    stops: Tensor | None


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
    allowed = logits.clone() if forbidden is None else logits.masked_fill(forbidden, -torch.inf)
    allowed[:, PAD] = -torch.inf
    allowed[:, BOS] = -torch.inf
    best, tokens = allowed.topk(count)
    log_probs = best - logits.logsumexp(-1, keepdim=True)
    # topk ranks NaN highest, so that the first column shows whatever is wrong with a row.
    if not log_probs[:, 0].isfinite().all():
        raise UserError(
            "the model's scores for the next token are not finite numbers (NaN or infinity): its training has diverged "
            "or its weights are damaged; decode with an earlier checkpoint, or train again with a lower learning rate"
        )
    return log_probs, tokens


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
    weights: Tensor  # [N, S]
    stops: Tensor | None  # [N]


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
        self._steps.append(_Step(tokens, parents, prediction.weights, prediction.stops))

    def backtrack(self, ends: Ends) -> list[Hypothesis]:
        """The hypotheses that end at `ends` (fields [H]), in that order. The record is used up and empty then."""
        row, token = torch.zeros_like(ends.row), torch.zeros_like(ends.token)
        last, shape = self._steps[-1], (len(ends.row), len(self._steps))
        tokens_HT, weights_HTS = token.new_empty(shape), last.weights.new_empty(*shape, last.weights.shape[1])
        stops_HT = None if last.stops is None else last.stops.new_empty(shape)
        while self._steps:
            # Freed as it is read: the weights of a long source are most of what a search keeps.
            length, step = len(self._steps), self._steps.pop()
            # Until its own last step is reached, a hypothesis follows row 0, which always exists; that part is cut off.
            row = torch.where(ends.length == length, ends.row, row)
            tokens_HT[:, length - 1] = torch.where(ends.length == length, ends.token, token)
            weights_HTS[:, length - 1] = step.weights[row]
            if stops_HT is not None and step.stops is not None:
                stops_HT[:, length - 1] = step.stops[row]
            token, row = step.tokens[row], step.parents[row]
        tokens, weights_HTS = tokens_HT.tolist(), weights_HTS.float().cpu()
        stops_HT = None if stops_HT is None else stops_HT.cpu()
        ranks = zip(ends.length.tolist(), ends.log_prob.tolist(), ends.score.tolist(), strict=True)
        return [
            Hypothesis(
                tokens=tuple(tokens[i][:length]),
                log_prob=log_prob,
                score=score,
                weights=_owned(weights_HTS[i, :length]),
                stops=None if stops_HT is None else _owned(stops_HT[i, :length]),
            )
            for i, (length, log_prob, score) in enumerate(ranks)
        ]


def _owned(part: Tensor) -> Tensor:
    """A part of a tensor, cloned unless it is the whole, so that keeping one hypothesis does not keep a batch."""
    return part if part.untyped_storage().nbytes() == part.nbytes else part.clone()
