"""How often the pairs of each of several corpora come in an epoch."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Portion(NamedTuple):
    """Successive pairs of a training set that come from one corpus."""

    size: int
    weight: float
    """How often each comes in an epoch, on the average."""


def rows_of_epoch(portions: Sequence[Portion], seed: int, epoch: int) -> np.ndarray:
    """Returns the rows of an epoch (from 1) in ascending order, some several times: a pure function of the arguments.

    With a weight of 2.3 each pair comes twice, and 30 % of the pairs once more. Which ones these are goes round in an
    order drawn by the seed, from one epoch to the next: so 10 epochs of a weight of 0.1 have every pair once.
    """
    rows = []
    start = 0
    for number, (size, weight) in enumerate(portions):
        whole = int(weight)
        further = round((weight - whole) * size)
        turn = (np.arange(further) + (epoch - 1) * further) % max(size, 1)
        again = np.random.default_rng((seed, number)).permutation(size)[turn]
        rows += [start + np.tile(np.arange(size), whole), start + again]
        start += size
    return np.sort(np.concatenate(rows))
