"""The record of a search, from which it reads its hypotheses. Needs no torch."""

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mt.search.hypothesis import Hypothesis
from mt.search.stepper import Attention
from mt.search.windows import EMPTY, Windows


class End(NamedTuple):
    """Where a hypothesis ends in a `History`."""

    score: float
    log_prob: float
    length: int
    """The number of its tokens, EOS included."""
    row: int
    """The hypothesis of the last step that its last token follows."""
    token: int
    """The last token."""


class _Step(NamedTuple):
    """The record of one step of N hypotheses."""

    tokens: list[int]
    """[N]: the last token of each hypothesis before the step."""
    parents: list[int]
    """[N]: the hypothesis of the step before that each continues."""
    attention: Attention | None


class History:
    """Records the tokens and the attention of every step, with back-pointers: hypotheses may be dropped and reordered
    between steps. Nothing is copied when they are; `backtrack` follows the pointers once, for the ended hypotheses."""

    def __init__(self) -> None:
        self._steps: deque[_Step] = deque()

    def __len__(self) -> int:
        return len(self._steps)

    def append(self, tokens: list[int], parents: list[int], attention: Attention | None) -> None:
        """Records a step of N hypotheses: their last tokens, which hypotheses of the step before they continue, and
        what the step attended to."""
        self._steps.append(_Step(tokens, parents, attention))

    def backtrack(self, ends: Sequence[End]) -> list[Hypothesis]:
        """Returns the hypotheses that end at `ends`, in that order, and empties the record."""
        paths = [self._path(end) for end in ends]
        alignments = [_Alignment() for _ in ends]
        for number in range(len(self._steps)):
            # Freed as it is read: the weights of a long source are most of what a search keeps.
            attention = self._steps.popleft().attention
            if attention is None:
                continue
            reached = [i for i, (rows, _) in enumerate(paths) if len(rows) > number]
            rows = [paths[i][0][number] for i in reached]
            for weights, row, i in zip(_copied(attention.weights, rows), rows, reached, strict=True):
                alignments[i].append(weights, row, attention)
        return [
            alignment.hypothesis(tuple(tokens), end)
            for end, (_, tokens), alignment in zip(ends, paths, alignments, strict=True)
        ]

    def _path(self, end: End) -> tuple[list[int], list[int]]:
        """Returns the row of a hypothesis in each step, and its tokens."""
        row = end.row
        rows = list[int]()
        tokens = [end.token]
        for number in range(end.length - 1, -1, -1):
            step = self._steps[number]
            rows.append(row)
            tokens.append(step.tokens[row])
            row = step.parents[row]
        tokens.pop()  # BOS
        return rows[::-1], tokens[::-1]


class _Alignment:
    """The attention of one hypothesis, step by step."""

    def __init__(self) -> None:
        self._weights: list[np.ndarray] = []
        self._stops: list[int] = []
        self._first: list[int] = []
        self._widths: list[int] = []
        self._energies: list[int] = []

    def append(self, weights: np.ndarray, row: int, attention: Attention) -> None:
        if attention.stops is not None:
            self._stops.append(int(attention.stops[row]))
        if attention.energies is not None:
            self._energies.append(int(attention.energies[row]))
        if attention.stops is not None and attention.first is not None:
            # The window of this row alone, which wider ones of other rows have padded.
            self._first.append(int(attention.first[row]))
            self._widths.append(0 if self._stops[-1] < 0 else self._stops[-1] - self._first[-1] + 1)
            weights = weights[: self._widths[-1]]
        self._weights.append(weights)

    def hypothesis(self, tokens: tuple[int, ...], end: End) -> Hypothesis:
        return Hypothesis(
            tokens=tokens,
            log_prob=end.log_prob,
            score=end.score,
            windows=self._windows(),
            stops=np.array(self._stops, np.int64) if self._stops else None,
            energies=sum(self._energies) if self._energies else None,
        )

    def _windows(self) -> Windows:
        if not self._weights:
            return EMPTY
        # Joined, so that keeping one hypothesis does not keep a batch.
        if not self._first:
            return Windows.whole(np.stack(self._weights))
        first = np.array(self._first, np.int64)
        widths = np.array(self._widths, np.int64)
        return Windows(np.concatenate(self._weights), first, widths)


def _copied(weights: Any, rows: list[int]) -> Sequence[np.ndarray]:
    """Returns some rows of the weights of a step, each [W], on the host."""
    if not isinstance(weights, np.ndarray):
        return list(weights[rows].float().cpu().numpy())
    return [weights[rows[0]]] if len(rows) == 1 else list(weights[rows])
