"""Takes a model along given hypotheses, and records what it says of them. Needs no torch."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mt.search.stepper import Stepper
from mt.step import BOS


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
