"""Ancestral sampling: hypotheses that are drawn from a model, token by token. Needs no torch.

Each sample has a generator of its own, which begins at a function of the seed, the source and the number of the sample.
Whatever else is decoded with it, and where, a source has the same samples.
"""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from mt.common.stop import go_on
from mt.errors import UserError
from mt.search.constraints import FREE, Constraints
from mt.search.draws import Draws
from mt.search.hypothesis import End, History, Hypothesis
from mt.search.options import MAX_BEAM_SIZE, SearchOptions, Utility
from mt.search.steering import Steering
from mt.search.stepper import Stepper
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
                f"search.n_best={self.n_best} asks for more hypotheses than are drawn ({self.samples}): set "
                f"search.samples={self.n_best} or more"
            )
        return self


def generators(seed: int, source: np.ndarray, count: int) -> list[np.random.Generator]:
    """Returns the generators of the samples of a source: a row of its field."""
    # Ids are the same in any type of whole numbers.
    row = source.astype(np.int64) if source.dtype.kind in "iu" else np.ascontiguousarray(source)
    digest = int.from_bytes(hashlib.sha256(row.tobytes()).digest()[:8], "little")
    return [np.random.default_rng((seed, digest, number)) for number in range(count)]


def draw_samples(
    config: SampleConfig,
    stepper: Stepper,
    limits: Sequence[int],
    sources: Sequence[np.ndarray],
    steering: Steering | None = None,
) -> list[list[Hypothesis]]:
    """Returns for each sentence of a batch its samples, the most probable first, `n_best` of them. Where `utility` is
    to choose, these are all, in the order in which they were drawn.

    limits, steering: see `search`. sources: the rows of the batch. Raises UserError as `sample`.
    """
    drawing = [generators(config.seed, source, config.samples) for source in sources]
    drawn = sample(
        stepper, limits, drawing, temperature=config.temperature, constraints=config.constraints, steering=steering
    )
    if config.utility is not None:
        return drawn
    return [sorted(samples, key=lambda hypothesis: -hypothesis.score)[: config.n_best] for samples in drawn]


def sample(
    stepper: Stepper,
    limits: Sequence[int],
    generators: Sequence[Sequence[np.random.Generator]],
    *,
    temperature: float = 1.0,
    constraints: Constraints = FREE,
    steering: Steering | None = None,
) -> list[list[Hypothesis]]:
    """Returns for each sentence its samples, in the order of their generators, of which each has as many; some may be
    equal. The score of a sample is its log-probability.

    limits: of each sentence the most tokens of a sample, at least 1. Raises UserError where scores are not finite.
    """
    count = len(generators[0])
    flat = [generator for of_sentence in generators for generator in of_sentence]
    log_probs = [0.0] * len(flat)
    ends: dict[int, End] = {}
    history = History()
    # At first a hypothesis of each sentence, from which its samples part; these have the numbers in `opened`.
    tokens = [BOS] * len(limits)
    parents = [*range(len(limits))]
    prefix = np.zeros((len(limits), 0), np.int64)
    opened = [*range(len(flat))]
    while opened:
        go_on()
        numbers = np.array([flat[index].random() for index in opened]).reshape(len(tokens), -1)  # [N, draws]
        forbidden = constraints.forbidden(prefix, len(history))
        asked = (forbidden, None) if steering is None else steering.before(forbidden, alone=True)
        step = stepper.step(tokens, parents, Draws(numbers, temperature), *asked)
        history.append(tokens, parents, step.attended, [log_probs[i] for i in opened[: len(tokens)]])
        rows = np.arange(len(tokens)).repeat(numbers.shape[1]).tolist()
        drawn = zip(opened, rows, step.tokens.ravel().tolist(), step.log_probs.ravel().tolist(), strict=True)
        tokens = []
        parents = []
        opened = []
        for index, row, token, log_prob in drawn:
            log_probs[index] += log_prob
            if token == EOS or len(history) == limits[index // count]:
                ends[index] = End(log_probs[index], log_probs[index], len(history), row, token)
            else:
                tokens.append(token)
                parents.append(row)
                opened.append(index)
        prefix = constraints.extended(prefix, parents, tokens)
        if steering is not None:
            steering.follow(parents, tokens)
    samples = history.backtrack([ends[index] for index in range(len(flat))])
    return [samples[begin : begin + count] for begin in range(0, len(samples), count)]
