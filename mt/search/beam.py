"""Beam search with a length penalty, its n best hypotheses exact with respect to the beam; a beam of one is greedy.

A sentence has `beam_size` slots. Each step keeps the most probable extensions of its open hypotheses, one for each free
slot. A hypothesis that ends, by EOS, by READ or at the maximum length, keeps its slot, and the search goes on with the
rest. It is over when none is open, or none can become one of the n best. Log-probabilities only fall. So a hypothesis
scores at most what its present log-probability would score at the maximum length, where the penalty divides by most.
What it pays for its attention (`mt.search.coverage`) only rises. Stopping there changes no result. So a
beam with a slot for every possible sentence is exhaustive search.

Hypotheses are Python lists. A step of one sentence is some dozen numbers, and an operation on a tensor or an array
takes as long as ten of Python.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mt.common.stop import go_on
from mt.search.constraints import FREE, Constraints, Forbidden
from mt.search.coverage import Costs, Coverage
from mt.search.hypothesis import End, History, Hypothesis, penalty
from mt.search.steering import Steering, shared
from mt.search.stepper import READ, Step, Stepper
from mt.search.tree import Observer
from mt.step import BOS, EOS


class _Ranking(NamedTuple):
    """How hypotheses are compared."""

    length_penalty: float
    n_best: int

    def score(self, log_prob: float, length: int) -> float:
        """Returns log-probability over length penalty."""
        return log_prob / penalty(length, self.length_penalty)


class _Open(NamedTuple):
    """The open hypotheses of the sentences that are searched, those of one sentence side by side, best first."""

    tokens: list[int]
    """The last token of each."""
    parents: list[int]
    """The hypothesis of the step before that each continues."""
    log_probs: list[float]
    counts: list[int]
    """How many hypotheses each sentence has."""


class _Sentence:
    """A sentence whose hypotheses are searched."""

    def __init__(self, limit: int, slots: int, observer: Observer | None = None) -> None:
        self._observer = observer
        self.limit = limit
        """Most tokens of a hypothesis."""
        self.slots = slots
        """How many slots no ended hypothesis has."""
        self.ended: list[End] = []
        """The best ended hypotheses, best first."""

    def add(self, ends: list[End], ranking: _Ranking) -> None:
        self.slots -= len(ends)
        if self._observer is not None:
            self._observer.end(ends)
        # A sort keeps the order of equals.
        self.ended = sorted(self.ended + ends, key=lambda end: -end.score)[: ranking.n_best]

    def over(self, log_probs: list[float], costs: list[float] | None, ranking: _Ranking) -> bool:
        """Returns whether no open hypothesis can become one of the n best. log_probs: theirs."""
        if len(self.ended) < ranking.n_best:
            return False
        if costs is None:
            return ranking.score(max(log_probs), self.limit) <= self.ended[-1].score
        pairs = zip(log_probs, costs, strict=True)
        return max(ranking.score(log_prob, self.limit) - cost for log_prob, cost in pairs) <= self.ended[-1].score


def search(
    stepper: Stepper,
    limits: Sequence[int],
    *,
    beam_size: int = 1,
    length_penalty: float = 0.0,
    n_best: int = 1,
    constraints: Constraints = FREE,
    coverage: Coverage | None = None,
    steering: Steering | None = None,
    observer: Observer | None = None,
) -> list[list[Hypothesis]]:
    """Returns for each sentence its `n_best` hypotheses, best score first. There are fewer if the beam or the language
    has no more, or none that has all that is asked of it.

    limits: of each sentence the most tokens of a hypothesis, at least 1, EOS included. Hypotheses that reach it without
        EOS end there and compete with the others.
    length_penalty: exponent a >= 0; the score is log P(Y) / ((5 + |Y|) / 6)^a, where |Y| counts EOS.
    coverage: before the first step, where hypotheses pay for their attention.
    steering: what is asked of single sentences, before the first step.
    observer: is told how a single sentence is searched.
    Raises UserError where the model's scores are not finite.
    """
    ranking = _Ranking(length_penalty, n_best)
    sentences = [_Sentence(limit, beam_size, observer) for limit in limits]
    searched = sentences
    history = History()
    count = len(sentences)
    opened = _Open([BOS] * count, list(range(count)), [0.0] * count, [1] * count)
    prefix = np.zeros((count, 0), np.int64)
    # Each step extends the open hypotheses; those that have ended are found again in the record of all steps.
    while searched:
        go_on()
        slots = max([sentence.slots for sentence in searched])
        forbidden = constraints.forbidden(prefix, len(history))
        step, lacking = _step(stepper, opened, slots, forbidden, steering)
        history.append(opened.tokens, opened.parents, step.attended, opened.log_probs)
        if observer is not None:
            observer.before(opened.tokens, opened.parents, opened.log_probs, step)
        if coverage is not None and step.attended is not None:
            coverage = coverage.after(opened.parents, step.attended)
        costs = None if coverage is None else coverage.costs()
        searched, opened = _extended(searched, opened, step, len(history), ranking, costs, lacking)
        if steering is not None:
            steering.follow(opened.parents, opened.tokens)
        prefix = constraints.extended(prefix, opened.parents, opened.tokens)
    hypotheses = iter(history.backtrack([end for sentence in sentences for end in sentence.ended]))
    return [[next(hypotheses) for _ in sentence.ended] for sentence in sentences]


def _step(
    stepper: Stepper, opened: _Open, slots: int, forbidden: Forbidden | None, steering: Steering | None
) -> tuple[Step, np.ndarray | None]:
    """Returns the next step of open hypotheses, and how many tokens each next hypothesis lacks of what is asked."""
    if steering is None:
        return stepper.step(opened.tokens, opened.parents, slots, forbidden), None
    forbidden, wanted = steering.before(forbidden)
    return steering.choices(stepper.step(opened.tokens, opened.parents, slots, forbidden, wanted))


def _extended(
    searched: list[_Sentence],
    opened: _Open,
    step: Step,
    length: int,
    ranking: _Ranking,
    costs: Costs | None,
    lacking: np.ndarray | None,
) -> tuple[list[_Sentence], _Open]:
    """Returns the sentences that go on, and their open hypotheses after one more token.

    length: tokens of a hypothesis with the new one. costs: what hypotheses pay for their attention, this step's too.
    lacking: see `Steering.choices`.
    """
    offsets = None if costs is None else penalty(length, ranking.length_penalty) * np.array(costs.if_open)
    log_probs_of_sentences, orders = _ranked(opened, step, offsets, lacking)
    tokens = step.tokens.tolist()
    width = step.tokens.shape[1]
    going: list[_Sentence] = []
    after = _Open([], [], [], [])
    first_row = 0
    for sentence, count, log_probs, order in zip(searched, opened.counts, log_probs_of_sentences, orders, strict=True):
        ends: list[End] = []
        first_open = len(after.tokens)
        for index in order[: sentence.slots]:
            log_prob = log_probs[index]
            if log_prob == -math.inf:
                break
            row = first_row + index // width
            token = tokens[row][index % width]
            if token in (EOS, READ) or length == sentence.limit:
                score = ranking.score(log_prob, length) - (0.0 if costs is None else costs.if_ended[row])
                ends.append(End(score, log_prob, length, row, token))
            else:
                after.tokens.append(token)
                after.parents.append(row)
                after.log_probs.append(log_prob)
        first_row += count
        if ends:
            sentence.add(ends, ranking)
        # A sentence goes on while an open hypothesis may become one of its best.
        remaining = len(after.tokens) - first_open
        paid = None if costs is None else [costs.if_open[row] for row in after.parents[first_open:]]
        if remaining and not sentence.over(after.log_probs[first_open:], paid, ranking):
            going.append(sentence)
            after.counts.append(remaining)
        else:
            for hypotheses in after[:3]:
                del hypotheses[first_open:]
    return going, after


def _ranked(
    opened: _Open, step: Step, offsets: np.ndarray | None, lacking: np.ndarray | None
) -> tuple[list[list[float]], list[list[int]]]:
    """Returns of each sentence the log-probabilities of its extensions, at index hypothesis * width + rank. With them
    come these indices in the order in which they get slots. It is best first, or where some lack what is asked, see
    `shared`. The best of a sentence are among the best of each hypothesis.

    offsets: [N], taken from the log-probabilities of a hypothesis' extensions before they are compared.
    """
    # In float64: the sum over a long hypothesis would lose in float32 what its last tokens differ by.
    values = np.array(opened.log_probs)[:, None] + step.log_probs
    log_probs = _by_sentence(values, opened.counts)
    if log_probs.shape[1] == 1:
        return log_probs.tolist(), [[0]] * len(log_probs)
    compared = log_probs if offsets is None else _by_sentence(values - offsets[:, None], opened.counts)
    if lacking is None:
        order = (-compared).argsort(1, kind="stable")
    else:
        order = shared(compared, _by_sentence(lacking, opened.counts))
    return log_probs.tolist(), order.tolist()


def _by_sentence(values: np.ndarray, counts: list[int]) -> np.ndarray:
    """Returns values [N, K] of hypotheses, in float64, as one row for each sentence, filled up with -inf."""
    widest = max(counts)
    if widest * len(counts) > len(values):
        grid = np.full((len(counts), widest, values.shape[1]), -np.inf)
        grid[np.arange(widest) < np.array(counts)[:, None]] = values
        values = grid
    return values.reshape(len(counts), -1)
