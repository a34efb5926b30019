"""Beam search with a length penalty, its n best hypotheses exact with respect to the beam; a beam of one is greedy.

A sentence has `beam_size` slots. Each step keeps the most probable extensions of its active hypotheses, one for each
free slot. A hypothesis that ends, by EOS, by READ or at the maximum length, is finished and keeps its slot, and the
search goes on with the rest. It is over when no hypothesis is active, or none can become one of the n best.

Log-probabilities only fall, so a hypothesis scores at most what its present log-probability would score at the maximum
length, where the length penalty divides by most. What it pays for its attention (`mt.search.coverage`) only rises.
Stopping there changes no result, and a beam with a slot for every possible sentence is exhaustive search.

Processors (`mt.search.processor`) forbid tokens, or share the slots in another way.

Hypotheses are Python lists. A step of one sentence is some dozen numbers, and an operation on a tensor or an array
takes as long as ten of Python.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mt.common.stop import go_on
from mt.search.coverage import Costs, Coverage
from mt.search.hypothesis import End, Hypothesis, Recorded, backtrack, penalty
from mt.search.processor import Candidates, Processor, in_turn
from mt.search.stepper import READ, Stepper
from mt.step import BOS, EOS


class _Active(NamedTuple):
    """The active hypotheses of all sentences. Hypotheses of one sentence are side by side, the best first."""

    tokens: list[int]
    """[N]: the last token of each."""
    parents: list[int]
    """[N]: the number of the hypothesis that each continues."""
    log_probs: list[float]
    """[N]: the sum over the tokens of each."""
    counts: list[int]
    """How many hypotheses each sentence has."""


class _Sentence:
    """A sentence whose hypotheses are searched."""

    def __init__(self, limit: int, slots: int, n_best: int, length_penalty: float) -> None:
        self.limit = limit
        """Most tokens of a hypothesis."""
        self.slots = slots
        """How many slots are not taken by finished hypotheses."""
        self.finished: list[End] = []
        """The best finished hypotheses, best first."""
        self._n_best = n_best
        # Log-probabilities are negative, so that the largest divisor gives the best score that is still possible.
        self._largest_penalty = penalty(limit, length_penalty)

    def add(self, ends: list[End]) -> None:
        """Adds hypotheses that have just ended."""
        self.slots -= len(ends)
        # A sort keeps the order of equals.
        self.finished = sorted(self.finished + ends, key=lambda end: -end.score)[: self._n_best]

    def over(self, log_probs: list[float], costs: list[float]) -> bool:
        """Returns whether no active hypothesis can become one of the n best. log_probs, costs: of the active ones."""
        if len(self.finished) < self._n_best:
            return False
        # No score is higher than with the present log-probability and cost at the limit.
        pairs = zip(log_probs, costs, strict=True)
        return max(log_prob / self._largest_penalty - cost for log_prob, cost in pairs) <= self.finished[-1].score


def search(
    stepper: Stepper,
    limits: Sequence[int],
    *,
    beam_size: int = 1,
    length_penalty: float = 0.0,
    n_best: int = 1,
    coverage: Coverage | None = None,
    processors: Sequence[Processor] = (),
) -> list[list[Hypothesis]]:
    """Returns for each sentence its `n_best` hypotheses, best score first. There are fewer if the beam or the language
    has no more, or processors allow no more.

    limits: of each sentence the most tokens of a hypothesis, at least 1, EOS included. Hypotheses that reach it without
        EOS end there and compete with the others.
    length_penalty: exponent a >= 0; the score is log P(Y) / ((5 + |Y|) / 6)^a, where |Y| counts EOS.
    coverage: before the first step, where hypotheses pay for their attention.
    Raises UserError where the model's scores are not finite.
    """
    sentences = [_Sentence(limit, beam_size, n_best, length_penalty) for limit in limits]
    searched = sentences
    history = deque[Recorded]()
    count = len(sentences)
    # Each sentence begins with one hypothesis, BOS alone, which continues the state of the sentence.
    active = _Active([BOS] * count, list(range(count)), [0.0] * count, [1] * count)
    while searched:
        go_on()
        # The scores of all next tokens, of which processors forbid some, and the best remain.
        step = stepper.step(active.tokens, active.parents)
        for processor in processors:
            processor.mask(step.scores)
        candidates = Candidates(*step.scores.best(max(sentence.slots for sentence in searched)))
        for processor in processors:
            candidates = processor.propose(step.scores, candidates)
        history.append(Recorded(active.tokens, active.parents, step.attended, active.log_probs))
        # The costs of attention, this step included.
        costs = Costs([0.0] * len(active.tokens), [0.0] * len(active.tokens))
        if coverage is not None and step.attended is not None:
            coverage = coverage.after(active.parents, step.attended)
            costs = coverage.costs()
        # The best candidates are finished hypotheses, or the active ones of the next step.
        length = len(history)
        searched, active, ends = _extended(searched, active, candidates, length, penalty(length, length_penalty), costs)
        for processor in processors:
            # Ends first: their rows are those of the step, before hypotheses are numbered anew.
            processor.end(ends)
            processor.follow(active.parents, active.tokens)
    # Finished hypotheses are read in one pass, since the record of the steps is freed while it is read.
    hypotheses = iter(backtrack(history, [end for sentence in sentences for end in sentence.finished]))
    return [[next(hypotheses) for _ in sentence.finished] for sentence in sentences]


def _extended(
    searched: list[_Sentence], active: _Active, candidates: Candidates, length: int, divisor: float, costs: Costs
) -> tuple[list[_Sentence], _Active, list[End]]:
    """Returns the sentences that go on, their active hypotheses after one more token, and the hypotheses that end.

    length: tokens of a hypothesis with the new one. divisor: the length penalty of that. costs: of the attention of
    hypotheses, this step included.
    """
    log_probs_of_sentences, orders = _ranked(active, candidates, costs, divisor)
    tokens = candidates.tokens.tolist()
    width = candidates.tokens.shape[1]
    going: list[_Sentence] = []
    after = _Active([], [], [], [])
    ends: list[End] = []
    first_row = 0
    for sentence, count, log_probs, order in zip(searched, active.counts, log_probs_of_sentences, orders, strict=True):
        # The best candidates take the slots.
        ends_of_sentence: list[End] = []
        first_active = len(after.tokens)
        for index in order[: sentence.slots]:
            log_prob = log_probs[index]
            # The order is best first, so that all behind this one are forbidden, too.
            if log_prob == -math.inf:
                break
            row = first_row + index // width
            token = tokens[row][index % width]
            # READ ends a hypothesis as EOS does; a later search goes on with it.
            if token in (EOS, READ) or length == sentence.limit:
                score = log_prob / divisor - costs.if_finished[row]
                ends_of_sentence.append(End(score, log_prob, length, row, token))
            else:
                after.tokens.append(token)
                after.parents.append(row)
                after.log_probs.append(log_prob)
        first_row += count
        sentence.add(ends_of_sentence)
        ends += ends_of_sentence
        # A sentence goes on while an active hypothesis may become one of its best.
        remaining = len(after.tokens) - first_active
        paid = [costs.if_active[row] for row in after.parents[first_active:]]
        if remaining and not sentence.over(after.log_probs[first_active:], paid):
            going.append(sentence)
            after.counts.append(remaining)
        else:
            # The sentence is over: its active hypotheses, the last ones of these lists, are taken out again.
            for hypotheses in after[:3]:
                del hypotheses[first_active:]
    return going, after, ends


def _ranked(
    active: _Active, candidates: Candidates, costs: Costs, divisor: float
) -> tuple[list[list[float]], list[list[int]]]:
    """Returns for each sentence the log-probabilities of its candidates, and the order in which these get slots: the
    best first, or by banks. A candidate has the index hypothesis * width + column.

    divisor: the length penalty of the candidates: a score is the log-probability over it.
    """
    # In float64: the sum over a long hypothesis would lose in float32 what its last tokens differ by.
    values = np.array(active.log_probs)[:, None] + candidates.log_probs
    log_probs = _by_sentence(values, active.counts)
    compared = log_probs
    if any(costs.if_active):
        # A cost is taken from a score, so from a log-probability it is taken times the divisor.
        compared = _by_sentence(values - divisor * np.array(costs.if_active)[:, None], active.counts)
    # Stable, so that among equal scores the candidate of the better hypothesis comes first.
    orders = (-compared).argsort(1, kind="stable").tolist()
    # Padding of a sentence with fewer hypotheses is -inf, and never gets a slot.
    if candidates.banks is not None:
        columns = (compared.tolist(), _by_sentence(candidates.banks, active.counts).tolist(), orders)
        orders = [in_turn(*of_sentence) for of_sentence in zip(*columns, strict=True)]
    return log_probs.tolist(), orders


def _by_sentence(values: np.ndarray, counts: list[int]) -> np.ndarray:
    """Returns values [N, K] of hypotheses, in float64, as one row for each sentence, filled up with -inf."""
    widest = max(counts)
    # The mask is true at as many places as there are values, and in their order.
    grid = np.full((len(counts), widest, values.shape[1]), -np.inf)
    grid[np.arange(widest) < np.array(counts)[:, None]] = values
    return grid.reshape(len(counts), -1)
