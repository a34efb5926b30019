"""Minimum length and blocked repetitions, against a look at whole sentences."""

from functools import partial

import numpy as np
import pytest

from mt.search.processor import Candidates, Processor, Rules
from mt.search.stepper import Scores
from mt.step import EOS
from tests.search.searches import beam, greedy, require_found
from tests.search.toys import make_toy

RULES = [(2, 0), (0, 1), (0, 2), (0, 3), (3, 2)]
"""Minimum lengths and sizes of n-grams."""


def allowed(tokens: tuple[int, ...], min_length: int, size: int) -> bool:
    """Whether a whole hypothesis keeps to the rules."""
    if tokens[-1] == EOS and len(tokens) - 1 < min_length:
        return False
    ngrams = [tokens[i : i + size] for i in range(len(tokens) - size + 1)]
    return not size or len(set(ngrams)) == len(ngrams)


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_is_exhaustive_search_of_what_is_allowed(rules: tuple[int, int], seed: int):
    longest = 5
    toy = make_toy(3, 6, seed)
    options = {"beam_size": 400, "n_best": 20, "processors": [Rules(3, *rules)]}
    result = beam(toy, toy.memory(), 3, max_lengths=[longest] * 3, **options)
    for b, hypotheses in enumerate(result):
        everything = [(score, tokens) for score, tokens in toy.ranked(b, longest, 0.0) if allowed(tokens, *rules)]
        require_found(hypotheses, everything[:20])


def test_what_a_prefix_has_repeated_is_counted_once():
    """Of eight tokens two are left, so that the hypothesis may not end yet."""
    processor = Rules(1, min_length=6, no_repeat_ngram_size=1)
    for token in (4, 4, 4, 5, 6):
        processor.follow([0], [token])
    scores = Scores(np.zeros((1, 8), np.float32))
    processor.mask(scores)
    assert np.flatnonzero(scores.log_probs[0] == -np.inf).tolist() == [EOS, 4, 5, 6]


@pytest.mark.parametrize("rules", [(8, 1), (30, 2)], ids=str)
@pytest.mark.parametrize("search", [greedy, partial(beam, beam_size=4, n_best=4)], ids=["greedy", "beam"])
def test_where_only_repetitions_are_left_a_hypothesis_ends(search, rules: tuple[int, int]):
    """Three words: `min_length` cannot be reached without a repetition, so that EOS follows when nothing else may."""
    toy = make_toy(4, 6, seed=3, ending=-20.0)
    result = search(toy, toy.memory(), 4, max_lengths=[40] * 4, processors=[Rules(4, *rules)])
    for hypotheses in result:
        for hypothesis in hypotheses if isinstance(hypotheses, list) else [hypotheses]:
            *words, last = hypothesis.tokens
            assert last == EOS and allowed((*words,), *rules) and len(words) < rules[0]
            assert not any(allowed((*words, word), *rules) for word in (1, 4, 5))


class Twice(Processor):
    """Every candidate competes twice."""

    def propose(self, scores: Scores, candidates: Candidates) -> Candidates:
        return Candidates(*(np.repeat(part, 2, axis=1) for part in candidates[:2]))


def test_a_candidate_that_is_proposed_twice_goes_on_as_two_equal_hypotheses():
    toy = make_toy(4, 7, seed=5)
    limits = [9] * 4
    single = greedy(toy, toy.memory(), 4, max_lengths=limits)
    double = beam(toy, toy.memory(), 4, beam_size=2, n_best=2, max_lengths=limits, processors=[Twice()])
    assert [[h.tokens for h in hypotheses] for hypotheses in double] == [[h.tokens] * 2 for h in single]
