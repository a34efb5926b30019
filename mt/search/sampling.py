"""Ancestral sampling: hypotheses that are drawn from a model, token by token. Needs no torch.

Each sample has a generator of its own, which begins at a function of the seed, the source and the number of the sample.
Whatever else is decoded with it, and where, a source has the same samples.
"""

import hashlib
import math
from collections import deque
from collections.abc import Sequence
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from mt.common.options import as_written
from mt.common.stop import go_on
from mt.errors import UserError
from mt.search.hypothesis import End, Hypothesis, Recorded, backtrack
from mt.search.options import MAX_BEAM_SIZE, SearchOptions, Utility
from mt.search.processor import Processor
from mt.search.stepper import Scores, Stepper
from mt.step import BOS, EOS


class SampleConfig(SearchOptions):
    """Hypotheses that are drawn by their probability, token by token: a function of the seed and the source alone."""

    name: Literal["sample"] = "sample"
    samples: Annotated[int, "hypotheses"] = Field(1, ge=1, le=MAX_BEAM_SIZE)
    """Hypotheses drawn per sentence, of which the most probable are reported, or by utility the best."""
    temperature: float = Field(1.0, gt=0, le=100)
    """Divides log-probabilities: below 1 for more of what is probable."""
    seed: int = Field(1, ge=0, lt=10**9)
    """The seed of the draws."""
    utility: Utility | None = None
    """The sample is chosen that has the most of this score, on the average, against all samples (minimum Bayes risk;
    Eikema & Aziz 2022, section 3); null: the most probable ones."""
    n_best: Annotated[int, "hypotheses"] = Field(1, ge=1, le=MAX_BEAM_SIZE)
    """Hypotheses reported per sentence, at most `samples`."""
    mode: Literal["auto", "soft", "hard"] = "auto"
    """How a monotonic attention reads. hard: it stops at one position; soft: as in training; auto: hard if it can."""

    @model_validator(mode="after")
    def _draws_what_it_reports(self) -> Self:
        if self.n_best > self.samples:
            raise UserError(
                f"{as_written('search.n_best', self.n_best)} asks for more hypotheses than are drawn ({self.samples}): "
                f"set {as_written('search.samples', self.n_best)} or more"
            )
        return self


def generators(seed: int, source: np.ndarray, count: int) -> list[np.random.Generator]:
    """Returns the generators of the samples of a source: a row of its field."""
    # Ids are the same in any type of whole numbers.
    row = source.astype(np.int64) if source.dtype.kind in "iu" else np.ascontiguousarray(source)
    # Samples depend on the content of a source, not on its place in a batch or a file.
    digest = int.from_bytes(hashlib.sha256(row.tobytes()).digest()[:8], "little")
    return [np.random.default_rng((seed, digest, number)) for number in range(count)]


def sample(
    stepper: Stepper,
    limits: Sequence[int],
    generators: Sequence[Sequence[np.random.Generator]],
    *,
    temperature: float = 1.0,
    processors: Sequence[Processor] = (),
) -> list[list[Hypothesis]]:
    """Returns for each sentence its samples, in the order of their generators, of which each has as many; some may be
    equal. The score of a sample is its log-probability. A sample is left out where processors let nothing follow it.

    limits: of each sentence the most tokens of a sample, at least 1. Raises UserError where scores are not finite.
    """
    count = len(generators[0])
    flat = [generator for of_sentence in generators for generator in of_sentence]
    log_probs = [0.0] * len(flat)
    ends: dict[int, End] = {}
    history = deque[Recorded]()
    # At first a hypothesis of each sentence, from which its samples part; these have the numbers in `active`.
    tokens = [BOS] * len(limits)
    parents = [*range(len(limits))]
    active = [*range(len(flat))]
    while active:
        go_on()
        numbers = np.array([flat[index].random() for index in active]).reshape(len(tokens), -1)  # [N, draws]
        step = stepper.step(tokens, parents)
        for processor in processors:
            processor.mask(step.scores)
        drawn_log_probs, drawn_tokens = drawn(step.scores, numbers, temperature)
        # At the first step a row stands for all samples of its sentence, whose sums are all 0.
        history.append(Recorded(tokens, parents, step.attended, [log_probs[i] for i in active[: len(tokens)]]))
        # Each sample ends with its token, or goes on.
        rows = np.arange(len(tokens)).repeat(numbers.shape[1]).tolist()
        entries = zip(active, rows, drawn_tokens.ravel().tolist(), drawn_log_probs.ravel().tolist(), strict=True)
        going = []
        for index, row, token, log_prob in entries:
            log_probs[index] += log_prob
            if token == EOS or len(history) == limits[index // count]:
                ends[index] = End(log_probs[index], log_probs[index], len(history), row, token)
            elif log_prob > -math.inf:
                going.append((token, row, index))
        tokens, parents, active = ([entry[column] for entry in going] for column in range(3))
        for processor in processors:
            processor.follow(parents, tokens)
    # Samples that ended with a token that is not allowed are left out.
    finished = sorted(index for index, end in ends.items() if end.log_prob > -math.inf)
    samples: list[list[Hypothesis]] = [[] for _ in limits]
    for index, hypothesis in zip(finished, backtrack(history, [ends[index] for index in finished]), strict=True):
        samples[index // count].append(hypothesis)
    return samples


def drawn(scores: Scores, numbers: np.ndarray, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """Draws tokens, and returns the model's own log-probabilities of them, [N, D] float32, and them, [N, D] int64.

    A token is where the sum of the probabilities up to it, in the order of the vocabulary, first exceeds its number.
    numbers: [N, D] float64, uniform in [0, 1). temperature: divides log-probabilities before tokens are drawn by them.
    Raises UserError where scores are not finite.
    """
    log_probs = scores.every()
    # Where nothing may follow, all differences are 0 in place of what is not a number.
    largest = np.maximum(log_probs.max(1, keepdims=True), np.finfo(np.float32).min)
    sums = np.exp((log_probs - largest) / np.float32(temperature)).cumsum(1, dtype=np.float64)
    # Rounded, a number below 1 may become all of the sum, after which there are no tokens.
    limits = np.nextafter(sums[:, -1:], 0)
    thresholds = np.minimum(numbers * sums[:, -1:], limits)
    pairs = zip(sums, thresholds, strict=True)
    tokens = np.stack([row.searchsorted(thresholds_of_row, side="right") for row, thresholds_of_row in pairs])
    # All sums are 0 where nothing may follow: any token stands for that.
    tokens = tokens.clip(max=log_probs.shape[1] - 1)
    return np.take_along_axis(log_probs, tokens, 1), tokens
