"""The attention weights of a hypothesis: of each step, those of the positions that it attended to."""

from typing import NamedTuple

import torch
from torch import Tensor


class Windows(NamedTuple):
    """A window of the source for each of T steps, outside of which its weights are 0. All on the CPU."""

    weights: Tensor
    """[sum of widths] float32: the windows, one after the other."""
    first: Tensor
    """[T] int64: the source position at which each begins."""
    widths: Tensor
    """[T] int64: how many positions each has."""

    @classmethod
    def whole(cls, weights: Tensor) -> "Windows":
        """Of steps that attended to all of the source. weights: [T, S], contiguous."""
        steps, width = weights.shape
        return cls(weights.view(-1), torch.zeros(steps, dtype=torch.int64), torch.full((steps,), width))

    def dense(self, width: int | None = None) -> Tensor:
        """[T, S] float32. width: S, beyond which weights are left out; by default as far as the windows reach."""
        ends, steps = self.first + self.widths, torch.arange(len(self.first))
        reach = int(ends.max()) if len(ends) else 0
        rows = steps.repeat_interleave(self.widths)
        columns = torch.arange(len(self.weights)) + (ends - self.widths.cumsum(0))[rows]
        grid = torch.zeros(len(ends), max(reach, width or 0))
        grid[rows, columns] = self.weights
        return grid[:, :width]

    def peaks(self) -> list[int]:
        """Of each step the position with the largest weight (the first one in a tie), -1 where nothing is attended
        to. No tensor of [T, S] is made."""
        windows = (window.numpy() for window in self.weights.split(self.widths.tolist()))
        pairs = zip(self.first.tolist(), windows, strict=True)
        return [first + int(window.argmax()) if window.any() else -1 for first, window in pairs]


EMPTY = Windows.whole(torch.zeros(0, 0))
"""Of no step."""
