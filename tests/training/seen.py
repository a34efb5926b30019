"""A training set that tells what training reads."""

from collections import Counter

import numpy as np

from mt.data.split import Examples, Split


class Seen:
    """A split that counts which examples are fetched."""

    def __init__(self, split: Split) -> None:
        self.split = split
        self.source = split.source
        self.counts = Counter[int]()

    def parts(self) -> list["Seen"]:
        return [self]

    def of_epoch(self, seed: int, epoch: int) -> "Seen":
        return self

    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        return self.split.lengths()

    def read(self, indices: np.ndarray) -> Examples:
        self.counts.update(indices.tolist())
        return self.split.read(indices)
