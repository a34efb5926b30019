"""Greedy and beam search of one sentence in NumPy: what `mt.search.beam` finds, with a tenth of its bookkeeping.

A step of a small model takes a third of a millisecond, a dozen operations on tensors as long again, and one of NumPy on
five numbers as long as five steps of Python. So arrays are what a model says, hypotheses are lists, and nothing is
computed for a slot that is not open.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mt.data.tokenizer import BOS, EOS, PAD
from mt.search.faults import not_finite
from mt.search.limits import is_cut
from mt.search.windows import Windows

FEW = 16
"""Largest numbers up to which looking for one after another is faster than a partition of all."""


class Step(NamedTuple):
    """What a model says of the next token of N hypotheses."""

    log_probs: np.ndarray
    """[N, V] float32: natural logarithms of the probabilities."""
    weights: np.ndarray
    """[N, W] float32: the attention of this step, of W positions from `first` on."""
    stops: np.ndarray | None = None
    """[N] int64: where a hard attention stopped, -1 where nowhere; None if it is soft."""
    first: np.ndarray | None = None
    """[N] int64; None: 0, and W = S. Given with `stops`, after which nothing is attended to."""


Advance = Callable[[list[int], list[int]], Step]
"""The next step: of the N tokens that were chosen, and the rows of the step before that each continues."""


class Found(NamedTuple):
    """A hypothesis; see `mt.search.hypothesis.Hypothesis`."""

    tokens: tuple[int, ...]
    score: float
    windows: Windows
    stops: np.ndarray | None
    energies: None = None

    @property
    def cut(self) -> bool:
        return is_cut(self.tokens)


class Rules(NamedTuple):
    """What a search may do; see `mt.search.config`."""

    longest: int
    """Most tokens of a hypothesis, EOS included, at least 1."""
    beam_size: int = 1
    """1 is greedy search."""
    length_penalty: float = 0.0
    n_best: int = 1
    min_length: int = 0
    no_repeat_ngram_size: int = 0

    def score(self, log_prob: float, length: int) -> float:
        """Log-probability over length penalty (Wu et al. 2016, equation 14), in float32 as elsewhere."""
        return float(np.float32(log_prob) / np.float32(((5 + length) / 6) ** self.length_penalty))


class _Visit(NamedTuple):
    tokens: list[int]
    rows: list[int]
    step: Step


class _End(NamedTuple):
    score: float
    length: int
    row: int
    """Of the step that said the last token."""
    token: int


def search(advance: Advance, rules: Rules) -> list[Found]:
    """The `n_best` hypotheses of a sentence, best score first; fewer if the beam or the language has no more.

    Raises UserError where the model's scores are not finite.
    """
    tokens, rows, log_probs = [BOS], [0], [0.0]
    prefixes = [list[int]()]
    visits: list[_Visit] = []
    ended: list[_End] = []
    slots = rules.beam_size
    while True:
        step = advance(tokens, rows)
        visits.append(_Visit(tokens, rows, step))
        length, vocabulary = len(visits), step.log_probs.shape[1]
        candidates = step.log_probs + np.array(log_probs, np.float32)[:, None]
        candidates[:, PAD] = candidates[:, BOS] = -np.inf
        _forbid(candidates, prefixes, length - 1, rules)
        best = _largest(candidates.reshape(-1), slots)
        if not math.isfinite(best[0][1]):
            raise not_finite()
        tokens, rows, log_probs, before = [], [], [], len(ended)
        for place, log_prob in best:
            if log_prob == -math.inf:
                break
            row, token = divmod(place, vocabulary)
            if token == EOS or length == rules.longest:
                ended.append(_End(rules.score(log_prob, length), length, row, token))
                slots -= 1
            else:
                tokens.append(token)
                rows.append(row)
                log_probs.append(log_prob)
        if len(ended) > before:
            # A sort keeps the order of equals.
            ended = sorted(ended, key=lambda end: -end.score)[: rules.n_best]
        # Log-probabilities only fall: no open hypothesis can score more than its own would at the maximum length.
        full = len(ended) == rules.n_best
        if not tokens or (full and rules.score(log_probs[0], rules.longest) <= ended[-1].score):
            return [_backtrack(visits, end) for end in ended]
        if rules.no_repeat_ngram_size:
            prefixes = [[*prefixes[row], token] for row, token in zip(rows, tokens, strict=True)]


def _largest(numbers: np.ndarray, count: int) -> list[tuple[int, float]]:
    """Where the largest numbers are, and they themselves, largest first. NaN is larger than any. numbers: used up."""
    count = min(count, len(numbers))
    if count > FEW:
        places = np.argpartition(-numbers, count - 1)[:count]
        places = places[np.argsort(-numbers[places], kind="stable")]
        return list(zip(places.tolist(), numbers[places].tolist(), strict=True))
    found = []
    for _ in range(count):
        place = int(numbers.argmax())
        found.append((place, float(numbers[place])))
        numbers[place] = -np.inf
    return found


def _forbid(candidates: np.ndarray, prefixes: list[list[int]], length: int, rules: Rules) -> None:
    """Gives the tokens that may not follow -inf, as `mt.search.constraints` says; EOS may where nothing else may.

    candidates: [N, V]; prefixes: the tokens of each hypothesis so far, where n-grams are looked up; length: their
    number.
    """
    n, early = rules.no_repeat_ngram_size, length < rules.min_length
    repeats = 0 < n <= length
    if not early and not repeats:
        return
    for index, row in enumerate(candidates):
        repeated: set[int] = set()
        if repeats:
            prefix, last = prefixes[index], prefixes[index][length - n + 1 :]
            starts = range(length - n + 1)
            repeated = {prefix[start + n - 1] for start in starts if prefix[start : start + n - 1] == last}
            repeated -= {PAD, BOS, EOS}
            row[list(repeated)] = -np.inf
        if early and len(repeated) + 3 < len(row):
            row[EOS] = -np.inf


def _backtrack(visits: list[_Visit], end: _End) -> Found:
    """Follows the rows that a hypothesis continues to its first token."""
    tokens, row, steps = [end.token], end.row, list[tuple[Step, int]]()
    for visit in reversed(visits[: end.length]):
        steps.append((visit.step, row))
        tokens.append(visit.tokens[row])
        row = visit.rows[row]
    tokens.pop()  # BOS
    steps.reverse()
    weights = [step.weights[row] for step, row in steps]
    said = tuple(reversed(tokens))
    hard = ((step.stops, step.first, row) for step, row in steps)
    places = [(stops[row], first[row]) for stops, first, row in hard if stops is not None and first is not None]
    if not places:
        return Found(said, end.score, Windows.whole(np.stack(weights)), None)
    stops, first = (np.array(part) for part in zip(*places, strict=True))
    widths = np.where(stops < 0, 0, stops - first + 1)
    inside = np.concatenate([part[:width] for part, width in zip(weights, widths, strict=True)])
    return Found(said, end.score, Windows(inside, first, widths), stops)
