"""The processors of a search: parts that change which tokens may follow a hypothesis, or watch the search.

`Processor` is the interface, and all that a search knows of them. `Rules` are the options that every search has. The
constraints of single translations are in `mt.constraints`. Needs no torch.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mt.search.hypothesis import NEVER_CHOSEN, End
from mt.search.stepper import Scores
from mt.step import EOS


class Candidates(NamedTuple):
    """Next tokens of N hypotheses, which compete for the slots of a beam. A token may come twice after a hypothesis:
    then two equal hypotheses can go on."""

    log_probs: np.ndarray
    """[N, K] float32: of the model, as a search adds them to the hypothesis before; -inf where none may follow."""
    tokens: np.ndarray
    """[N, K] int64."""
    banks: np.ndarray | None = None
    """[N, K] int64: banks take the slots of a sentence in turn, the lowest bank first, each with the best that it has
    left (dynamic beam allocation; Post & Vilar 2018). None: all are one bank."""


def in_turn(scores: list[float], banks: list[float], order: list[int]) -> list[int]:
    """Returns the order of candidates where banks take turns: the best of each bank, the lowest bank first, then the
    second best of each, and so on. order: best first. Impossible candidates are left out."""
    turns = Counter[float]()
    ranked = []
    for index in order:
        if scores[index] > -np.inf:
            ranked.append((turns[banks[index]], banks[index], index))
            turns[banks[index]] += 1
    return [index for *_, index in sorted(ranked)]


class Processor:
    """A part of a search. Each step calls these methods in this order, and each may be left out. In the first step each
    sentence has one hypothesis, without tokens; a sentence that is over has none."""

    def mask(self, scores: Scores) -> None:
        """Forbids next tokens. scores: of the hypotheses that go on, those of one sentence side by side."""

    def propose(self, scores: Scores, candidates: Candidates) -> Candidates:
        """Returns the candidates for the slots of a beam, in any order.

        candidates: of each hypothesis its most probable tokens, as many as the most slots that a sentence has free; or
            the result of the processor before.
        """
        return candidates

    def end(self, ends: Sequence[End]) -> None:
        """Takes the hypotheses that have ended with the step."""

    def follow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        """Takes the hypotheses that go on: the number of the hypothesis that each continues, and its new token."""


class Rules(Processor):
    """The rules that every search has options for: a least length, and no n tokens in a row that occur twice."""

    def __init__(self, sentences: int, min_length: int = 0, no_repeat_ngram_size: int = 0) -> None:
        """
        Args:
            min_length: fewest tokens before EOS; fewer where nothing but repetitions may follow.
            no_repeat_ngram_size: n (Paulus et al. 2018, section 2.5: 3); 0: any may occur.
        """
        self._min_length = min_length
        self._size = no_repeat_ngram_size
        self._length = 0
        self._tokens = np.zeros((sentences, 0), np.int64)
        """[N, L] int64, without BOS; [N, 0] where repetitions are allowed, so that no step copies the tokens."""

    def mask(self, scores: Scores) -> None:
        hypotheses, repeated = self._repeated()
        scores.forbid(hypotheses, repeated)
        if self._length < self._min_length:
            # Too short for EOS, which may follow all the same where every other token is forbidden.
            counts = np.bincount(hypotheses, minlength=len(self._tokens)) + len((*NEVER_CHOSEN, EOS))
            early = np.flatnonzero(counts < scores.log_probs.shape[1])
            scores.forbid(early, np.full(len(early), EOS))

    def _repeated(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns hypotheses and the tokens that would repeat an n-gram of theirs, each pair once."""
        tokens = self._tokens
        count = self._length - self._size + 1
        if not self._size or count < 1:
            none = np.zeros(0, np.int64)
            return none, none
        # Compare the last n - 1 tokens with those that begin each n-gram so far, token by token.
        begins = np.ones((len(tokens), count), bool)
        for i in range(self._size - 1):
            begins &= tokens[:, i : i + count] == tokens[:, count + i, None]
        hypotheses, places = begins.nonzero()
        # Each pair once, as `mask` counts how many tokens are forbidden.
        pairs = np.unique(np.stack((hypotheses, tokens[hypotheses, places + self._size - 1])), axis=1)
        return pairs[0], pairs[1]

    def follow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        self._length += 1
        added = np.array(tokens, np.int64)[:, None] if self._size else np.zeros((len(parents), 0), np.int64)
        self._tokens = np.concatenate((self._tokens[[*parents]], added), 1)
