"""What a search asks of a model: a step of its hypotheses, with the scores of all next tokens.

Processors forbid some tokens, and the search asks `Scores` for the most probable others. `Stepper` is the interface of
models, and `replayed` takes one along given hypotheses. Needs no torch and knows no model."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from mt.errors import UserError
from mt.search.hypothesis import NEVER_CHOSEN, on_host
from mt.step import BOS, Attended

READ = -1
"""In place of a token, and of the row of a hypothesis: the next token cannot be predicted before more of the source is
read. The hypothesis ends here, as with EOS. A later search goes on with it after more was read."""
FEW = 32
"""Up to this many of the largest numbers of a row are found one after another, faster than by a partition."""


class Scores:
    """The log-probabilities of every token that may follow N hypotheses, in an array or in a tensor on a device.

    Forbidden tokens become -inf. The others are not normalised again: they keep the log-probabilities of the model.
    """

    def __init__(
        self, log_probs: Any, rows: np.ndarray | None = None, best: tuple[np.ndarray, np.ndarray] | None = None
    ) -> None:
        """
        Args:
            log_probs: [R, V] float32, an array or a tensor, which is written to.
            rows: [N] int64, the row of each hypothesis, READ where it waits for more of the source; None: in order.
            best: the result of `best`, where it is known already; it holds while no token is forbidden.
        """
        self.log_probs = log_probs
        self.rows = np.arange(len(log_probs)) if rows is None else rows
        self.masked = False
        """Whether anything was forbidden."""
        self._best = best
        self._restricted: np.ndarray | None = None

    def of(self, hypothesis: int) -> "Scores":
        """Returns the scores of one hypothesis, which share their memory with these."""
        return Scores(self.log_probs, self.rows[[hypothesis]])

    def at(self, hypotheses: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Returns the log-probabilities of some next tokens, [W] float32, -inf of forbidden ones."""
        return on_host(self.log_probs[self.rows[hypotheses], tokens])

    def forbid(self, hypotheses: np.ndarray, tokens: np.ndarray) -> None:
        """Forbids tokens after hypotheses, but changes nothing for hypotheses that are restricted."""
        if self._restricted is not None:
            free = ~np.isin(hypotheses, self._restricted)
            hypotheses = hypotheses[free]
            tokens = tokens[free]
        if len(hypotheses):
            self.log_probs[self.rows[hypotheses], tokens] = -np.inf
            self.masked = True

    def restrict(self, restricted: np.ndarray, hypotheses: np.ndarray, tokens: np.ndarray) -> None:
        """Allows some hypotheses no next tokens but these, whatever is forbidden later.

        restricted: [M] int64, which hypotheses. hypotheses, tokens: [W] int64, pairs of one of them and a token.
        """
        pairs = self.rows[hypotheses], tokens
        # Indexing by arrays copies, so that these survive when their rows are overwritten.
        allowed = self.log_probs[pairs]
        self.log_probs[self.rows[restricted]] = -np.inf
        self.log_probs[pairs] = allowed
        self._restricted = restricted
        self.masked = True

    def best(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the log-probabilities of the `count` most probable next tokens, [N, count] float32, largest first,
        and these tokens, [N, count] int64. A smaller vocabulary has fewer columns. Where fewer tokens are allowed, the
        last columns are -inf. Raises UserError where the model's scores are not finite."""
        waiting = (self.rows == READ).nonzero()[0]
        if len(waiting) == len(self.rows):
            return np.zeros((len(waiting), 1), np.float32), np.full((len(waiting), 1), READ)
        if self._best is None or self.masked:
            self._mask_never_chosen()
            best, tokens = (part[self.rows] for part in largest(self.log_probs, count))
        else:
            best, tokens = (part[:, :count] for part in self._best)
        # A hypothesis that waits has no scores: READ is its only candidate.
        if len(waiting):
            best[waiting] = -np.inf
            best[waiting, 0] = 0.0
            tokens[waiting, 0] = READ
        # NaN and infinity rank first.
        self._require_finite(best[:, 0])
        return best, tokens

    def every(self) -> np.ndarray:
        """Returns the log-probabilities as a new array, [N, V]. Raises UserError where they are not finite."""
        self._mask_never_chosen()
        log_probs = on_host(self.log_probs)[self.rows]
        self._require_finite(log_probs.max(1))
        return log_probs

    def _mask_never_chosen(self) -> None:
        for token in NEVER_CHOSEN:
            self.log_probs[:, token] = -np.inf

    def _require_finite(self, largest_of_rows: np.ndarray) -> None:
        """Raises UserError where the largest score of a hypothesis is not finite, unless all of it is forbidden."""
        if self.masked:
            largest_of_rows = largest_of_rows[largest_of_rows != -np.inf]
        if not math.isfinite(largest_of_rows.sum()):
            raise UserError(
                "the model's scores for the next token are not finite numbers (NaN or infinity): decode with an "
                "earlier checkpoint. Its training has diverged, or its weights are damaged"
            )


def largest(values: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the `count` largest numbers of each row and their columns, the largest first; NaN is the largest of all.

    values: [R, V], an array or a tensor.
    """
    count = min(count, values.shape[1])
    if not isinstance(values, np.ndarray):
        return tuple(part.cpu().numpy() for part in values.topk(count))  # type: ignore[return-value]
    rows = np.arange(len(values))
    if count > FEW:
        # The largest ones come in any order, and are then sorted among themselves.
        columns = np.argpartition(values, -count)[:, -count:]
        columns = np.take_along_axis(columns, np.argsort(np.take_along_axis(values, columns, 1))[:, ::-1], 1)
        return np.take_along_axis(values, columns, 1), columns
    # One after another: each is taken out of its row for the search of the next one, and put back at the end.
    best = np.empty((len(values), count), np.float32)
    columns = np.empty((len(values), count), np.int64)
    for place in range(count):
        found = values.argmax(1)
        columns[:, place] = found
        best[:, place] = values[rows, found]
        values[rows, found] = -np.inf
    values[rows[:, None], columns] = best
    return best, columns


# The interface.


class Step(NamedTuple):
    """A target step of N hypotheses."""

    scores: Scores
    """The scores of the tokens that may follow each hypothesis, before any is forbidden."""
    attended: Attended | None
    """On the host, but for weights, which may be a tensor on a device, from which rows are copied when hypotheses are
    collected. None where it is not recorded, as in a stream, which keeps nothing of what it has written."""


class Stepper(Protocol):
    """A model that decodes a batch of sources. It holds their memory and the states of hypotheses."""

    def step(self, tokens: list[int], parents: list[int]) -> Step:
        """Returns the next step of N hypotheses, those of one sentence side by side, sentences in the order of the
        batch.

        tokens: the last token of each, BOS at first. parents: the hypothesis of the step before that each continues;
        at first the sentences, each once.
        """


# Given hypotheses.


class Replayed(NamedTuple):
    """The probabilities that a model gives to a hypothesis, and what it would rather have written."""

    log_probs: np.ndarray
    """[T] float32: of its tokens."""
    best: list[list[tuple[int, float]]]
    """[T]: in the place of each the most probable tokens, with their log-probabilities, best first."""


def replayed(stepper: Stepper, hypotheses: Sequence[Sequence[Sequence[int]]], count: int) -> list[list[Replayed]]:
    """Returns the probabilities that a model gives to hypotheses. hypotheses: of each of its sources at least one.

    count: how many of the most probable tokens of each step are recorded.
    """
    flat = [tokens for of_source in hypotheses for tokens in of_source]
    log_probs = [np.zeros(len(tokens), np.float32) for tokens in flat]
    best: list[list[list[tuple[int, float]]]] = [[] for _ in flat]
    # The first step is one of each source, from which its hypotheses part.
    running = [*range(len(flat))]
    rows = [source for source, of_source in enumerate(hypotheses) for _ in of_source]
    tokens = [BOS] * len(hypotheses)
    parents = [*range(len(hypotheses))]
    for place in range(max(map(len, flat))):
        scores = stepper.step(tokens, parents).scores
        own = scores.at(np.array(rows), np.array([flat[i][place] for i in running]))
        best_log_probs, best_tokens = (part.tolist() for part in scores.best(count))
        for i, row, log_prob in zip(running, rows, own, strict=True):
            log_probs[i][place] = log_prob
            best[i].append([*zip(best_tokens[row], best_log_probs[row], strict=True)])
        # Hypotheses that end here are left out of the next step.
        going = [(i, row) for i, row in zip(running, rows, strict=True) if place + 1 < len(flat[i])]
        running = [i for i, _ in going]
        parents = [row for _, row in going]
        rows = [*range(len(going))]
        tokens = [flat[i][place] for i in running]
    remaining = iter(map(Replayed, log_probs, best))
    return [[next(remaining) for _ in of_source] for of_source in hypotheses]
