"""The hypotheses that a search returns, and the record from which it reads them. Needs no torch.

`Windows` says where a hypothesis attended, and `Hypothesis` is one output sentence. A search keeps its steps as
`Recorded` until its hypotheses have ended, and `backtrack` reads these.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from mt.step import BOS, EOS, PAD, Attended

NEVER_CHOSEN = (PAD, BOS)
"""Tokens that are never predicted."""


def same_values(one: Sequence[object], other: Sequence[object]) -> bool:
    """Returns whether the values of two records are equal, one by one; arrays by shape and numbers. `==` of an array
    is an array, so that comparing the records as tuples would raise."""
    pairs = zip(one, other, strict=True)
    return all(
        np.array_equal(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else a == b  # type: ignore[arg-type]
        for a, b in pairs
    )


class Windows(NamedTuple):
    """Where a hypothesis attended: the records of its T steps (see `mt.step.Attended`), joined. A step has a window of
    the source, outside of which its weights are 0."""

    weights: np.ndarray
    """[sum of widths] float32: the windows, one after the other."""
    first: np.ndarray
    """[T] int64: the source position at which each begins."""
    widths: np.ndarray
    """[T] int64: how many positions each has."""
    stops: np.ndarray | None = None
    """[T] int64: where a hard attention stopped, SELECTED_NONE where it selected nothing; None if it is soft."""
    looked_at: np.ndarray | None = None
    """[T] int64: how many positions a hard monotonic attention looked at; None of other attentions."""

    def __eq__(self, other: object) -> bool:
        return same_values(self, other) if isinstance(other, Windows) else NotImplemented

    def __ne__(self, other: object) -> bool:  # a tuple has one of its own
        return not self == other

    @classmethod
    def whole(cls, weights: np.ndarray) -> Self:
        """Returns the windows of steps that attended to all of the source. weights: [T, S] float32, contiguous."""
        steps, width = weights.shape
        return cls(weights.reshape(-1), np.zeros(steps, np.int64), np.full(steps, width, np.int64))

    @classmethod
    def joined(cls, steps: Sequence[tuple[Attended, int]]) -> Self:
        """Joins the steps of one hypothesis. steps: the record of each, which several hypotheses share, and the row of
        this one in it. The result shares no memory with them."""
        if not steps:
            return cls.whole(np.zeros((0, 0), np.float32))
        weights = [attended.weights[row] for attended, row in steps]
        # Each of these columns is known in all steps, or in none.
        stops, first, looked_at = (
            None
            if column[0] is None
            else np.array([numbers[row] for numbers, (_, row) in zip(column, steps, strict=True)], np.int64)
            for column in zip(*(attended[1:] for attended, _ in steps), strict=True)
        )
        # Without a first position, the weights of each step are of the whole source.
        if stops is None or first is None:
            return cls.whole(np.stack(weights))._replace(stops=stops, looked_at=looked_at)
        # The windows of this row alone, which wider ones of other rows have padded.
        widths = np.where(stops < 0, 0, stops - first + 1)
        windows = [window[:width] for window, width in zip(weights, widths.tolist(), strict=True)]
        return cls(np.concatenate(windows), first, widths, stops, looked_at)

    def take(self, steps: Sequence[int]) -> Self:
        """Returns the windows of some of the steps, in this order."""
        ends = self.widths.cumsum()
        parts = [self.weights[ends[step] - self.widths[step] : ends[step]] for step in steps]
        weights = np.concatenate(parts) if parts else self.weights[:0]
        numbers = (None if column is None else column[[*steps]] for column in self[1:])
        return type(self)(weights, *numbers)  # type: ignore[arg-type]

    def dense(self, width: int | None = None) -> np.ndarray:
        """Returns the weights as [T, S] float32. width: S, beyond which weights are left out; by default the largest
        end of a window."""
        ends = self.first + self.widths
        steps = np.arange(len(self.first))
        reach = int(ends.max(initial=0))
        rows = steps.repeat(self.widths)
        # The place of a weight in the flat array, moved to where its window lies in the source.
        columns = np.arange(len(self.weights)) + (ends - self.widths.cumsum())[rows]
        # Windows may reach beyond `width`: they are written whole, and cut at the end.
        grid = np.zeros((len(ends), max(reach, width or 0)), np.float32)
        grid[rows, columns] = self.weights
        return grid[:, :width]

    def peaks(self) -> list[int]:
        """Returns for each step the position with the largest weight (the first one in a tie), -1 where nothing is
        attended to. No array of [T, S] is made."""
        windows = np.split(self.weights, self.widths.cumsum()[:-1]) if len(self.widths) else []
        pairs = zip(self.first.tolist(), windows, strict=True)
        return [first + int(window.argmax()) if window.any() else -1 for first, window in pairs]


EMPTY = Windows(np.zeros(0, np.float32), np.zeros(0, np.int64), np.zeros(0, np.int64))
"""The windows of no step."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One output sentence with its alignment.

    tokens: without BOS; with EOS unless the sentence was cut at its maximum length.
    log_prob: natural logarithm of the model's probability of `tokens`. score: by which hypotheses are ranked.
    windows: where each token attended; of a soft attention, over the padded width of the batch.
    """

    tokens: tuple[int, ...]
    log_prob: float
    score: float
    windows: Windows
    log_probs: tuple[float, ...] = ()
    """Of each token."""
    delays: np.ndarray | None = None
    """[T] int64: the source tokens that had been read when each token was written; None of a search that reads all."""

    def __eq__(self, other: object) -> bool:
        return same_values([*vars(self).values()], [*vars(other).values()]) if isinstance(other, Hypothesis) else False

    @property
    def cut(self) -> bool:
        """Whether the sentence was cut at its maximum length."""
        return self.tokens[-1] != EOS


def penalty(length: int, exponent: float) -> float:
    """Returns the divisor of a log-probability, ((5 + |Y|) / 6) ** exponent (Wu et al. 2016, equation 14)."""
    return ((5 + length) / 6) ** exponent


class End(NamedTuple):
    """Where a hypothesis ends in the record of a search."""

    score: float
    log_prob: float
    length: int
    """The number of its tokens, EOS included."""
    row: int
    """The hypothesis of the last step that its last token follows."""
    token: int
    """The last token."""


class Recorded(NamedTuple):
    """One step of N hypotheses. Hypotheses may be dropped and reordered between steps: nothing is copied when they are,
    and `backtrack` follows the back-pointers once, for the ended hypotheses."""

    tokens: list[int]
    """[N]: the last token of each hypothesis before the step."""
    parents: list[int]
    """[N]: the hypothesis of the step before that each continues."""
    attended: Attended | None
    log_probs: list[float]
    """[N]: of each hypothesis before the step."""


def backtrack(history: deque[Recorded], ends: Sequence[End]) -> list[Hypothesis]:
    """Returns the hypotheses that end at `ends`, in that order, and empties the record of the steps."""
    # First the back-pointers are followed, then the weights on these paths are collected, step by step.
    paths = [_path(history, end) for end in ends]
    steps: list[list[tuple[Attended, int]]] = [[] for _ in ends]
    for number in range(len(history)):
        # Freed as it is read: the weights of a long source are most of what a search keeps.
        attended = history.popleft().attended
        if attended is None:
            continue
        # The hypotheses that had not ended before this step.
        reached = [i for i, (rows, _, _) in enumerate(paths) if len(rows) > number]
        record = _rows_of(attended, [paths[i][0][number] for i in reached])
        for row, i in enumerate(reached):
            steps[i].append((record, row))
    return [
        Hypothesis(tokens, end.log_prob, end.score, Windows.joined(of_path), log_probs)
        for end, (_, tokens, log_probs), of_path in zip(ends, paths, steps, strict=True)
    ]


def _path(history: Sequence[Recorded], end: End) -> tuple[list[int], tuple[int, ...], tuple[float, ...]]:
    """Returns the row of a hypothesis in each step, its tokens, and the log-probability of each."""
    row = end.row
    rows = list[int]()
    tokens = [end.token]
    sums = [end.log_prob]
    # From the last step back to the first, along the parents.
    for number in range(end.length - 1, -1, -1):
        step = history[number]
        rows.append(row)
        tokens.append(step.tokens[row])
        sums.append(step.log_probs[row])
        row = step.parents[row]
    tokens.pop()  # BOS
    # A token's log-probability is the difference between the sums after it and before it.
    log_probs = tuple(after - before for before, after in pairwise(sums[::-1]))
    return rows[::-1], tuple(tokens[::-1]), log_probs


def _rows_of(attended: Attended, rows: list[int]) -> Attended:
    """Returns some rows of the record of a step, on the host, with numbers as lists."""
    weights, *numbers = attended
    return Attended(on_host(weights[rows]), *(None if part is None else part[rows].tolist() for part in numbers))


def on_host(weights: Any) -> np.ndarray:
    """Returns attention weights as an array on the host. Those of a tensor are copied there in float32."""
    return weights if isinstance(weights, np.ndarray) else weights.float().cpu().numpy()
