"""A training set that tells what training reads."""

from collections import Counter

import numpy as np

from mt.data.split import Split


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

    def ids(self, indices: np.ndarray) -> list:
        self.counts.update(indices.tolist())
        return self.split.ids(indices)

    def transcripts(self, indices: np.ndarray) -> list | None:
        return self.split.transcripts(indices)

    def piece_links(self, indices: np.ndarray, pairs: list) -> list | None:
        return self.split.piece_links(indices, pairs)
