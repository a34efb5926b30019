"""The attention weights of a hypothesis: of each step, those of the positions that it attended to."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


def same_values(one: Sequence[object], other: Sequence[object]) -> bool:
    """Returns whether the values of two records are equal, one by one; arrays by shape and numbers. `==` of an array
    is an array, so that comparing the records as tuples would raise."""
    pairs = zip(one, other, strict=True)
    return all(
        np.array_equal(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else a == b  # type: ignore[arg-type]
        for a, b in pairs
    )


class Windows(NamedTuple):
    """A window of the source for each of T steps, outside of which its weights are 0."""

    weights: np.ndarray
    """[sum of widths] float32: the windows, one after the other."""
    first: np.ndarray
    """[T] int64: the source position at which each begins."""
    widths: np.ndarray
    """[T] int64: how many positions each has."""

    def __eq__(self, other: object) -> bool:
        return same_values(self, other) if isinstance(other, Windows) else NotImplemented

    def __ne__(self, other: object) -> bool:  # a tuple has one of its own
        return not self == other

    def __hash__(self) -> int:
        return hash((*self.first.tolist(), *self.widths.tolist()))

    @classmethod
    def whole(cls, weights: np.ndarray) -> "Windows":
        """Returns the windows of steps that attended to all of the source. weights: [T, S] float32, contiguous."""
        steps, width = weights.shape
        return cls(weights.reshape(-1), np.zeros(steps, np.int64), np.full(steps, width, np.int64))

    def dense(self, width: int | None = None) -> np.ndarray:
        """Returns the weights as [T, S] float32. width: S, beyond which weights are left out; by default the largest
        end of a window."""
        ends = self.first + self.widths
        steps = np.arange(len(self.first))
        reach = int(ends.max()) if len(ends) else 0
        rows = steps.repeat(self.widths)
        columns = np.arange(len(self.weights)) + (ends - self.widths.cumsum())[rows]
        grid = np.zeros((len(ends), max(reach, width or 0)), np.float32)
        grid[rows, columns] = self.weights
        return grid[:, :width]

    def peaks(self) -> list[int]:
        """Returns for each step the position with the largest weight (the first one in a tie), -1 where nothing is
        attended to. No array of [T, S] is made."""
        windows = np.split(self.weights, self.widths.cumsum()[:-1]) if len(self.widths) else []
        pairs = zip(self.first.tolist(), windows, strict=True)
        return [first + int(window.argmax()) if window.any() else -1 for first, window in pairs]


EMPTY = Windows.whole(np.zeros((0, 0), np.float32))
"""The windows of no step."""
