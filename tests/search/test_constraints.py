"""Minimum length and blocked repetitions, against a look at whole sentences."""

from functools import partial

import numpy as np
import pytest
import torch

from mt.search.constraints import Constraints, Forbidden, Wanted
from mt.search.draws import Draws
from mt.search.torch_stepper import TorchStepper
from mt.step import BOS, EOS
from tests.search.searches import beam, greedy


def allowed(tokens: tuple[int, ...], constraints: Constraints) -> bool:
    """Whether a whole hypothesis keeps to the constraints."""
    if tokens[-1] == EOS and len(tokens) - 1 < constraints.min_length:
        return False
    ngrams = [
        tokens[i : i + constraints.no_repeat_ngram_size]
        for i in range(len(tokens) - constraints.no_repeat_ngram_size + 1)
    ]
    return not constraints.no_repeat_ngram_size or len(set(ngrams)) == len(ngrams)


@pytest.mark.parametrize(
    "constraints",
    [Constraints(2, 0), Constraints(0, 1), Constraints(0, 2), Constraints(0, 3), Constraints(3, 2)],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_is_exhaustive_search_of_what_is_allowed(make_toy, constraints: Constraints, seed: int):
    longest = 5
    toy = make_toy(3, 6, seed)
    result = beam(
        toy, toy.memory(), 3, beam_size=400, max_lengths=torch.full((3,), longest), n_best=20, constraints=constraints
    )
    for b, hypotheses in enumerate(result):
        everything = [(score, tokens) for score, tokens in toy.ranked(b, longest, 0.0) if allowed(tokens, constraints)]
        assert [h.tokens for h in hypotheses] == [tokens for _, tokens in everything[:20]]
        assert [h.score for h in hypotheses] == pytest.approx([score for score, _ in everything[:20]], abs=1e-4)


def forbidden(constraints: Constraints, prefix: np.ndarray, vocabulary: int = 7) -> list[list[int]]:
    """The tokens that may not follow each of some prefixes."""
    result = constraints.forbidden(prefix, prefix.shape[1])
    assert result is not None
    rows, tokens = result.pairs(vocabulary)
    return [sorted(tokens[rows == row].tolist()) for row in range(len(prefix))]


def test_what_may_follow():
    prefix = np.array([[4, 5, 4, 5, 4], [4, 4, 4, 5, 6]])
    for n, expected in {1: [[4, 5], [4, 5, 6]], 2: [[5], []], 3: [[5], []], 5: [[], []]}.items():
        assert forbidden(Constraints(0, n), prefix) == expected
    assert Constraints(0, 6).forbidden(prefix, 5) is None
    assert Constraints().forbidden(prefix, 5) is None
    assert forbidden(Constraints(6, 0), prefix) == [[EOS], [EOS]]
    assert Constraints(5, 0).forbidden(prefix, 5) is None
    # Of seven tokens the second hypothesis has but one left beside EOS, and of six none.
    assert forbidden(Constraints(6, 1), prefix) == [[EOS, 4, 5], [EOS, 4, 5, 6]]
    assert forbidden(Constraints(6, 1), prefix, vocabulary=6) == [[EOS, 4, 5], [4, 5, 6]]


@pytest.mark.parametrize("constraints", [Constraints(8, 1), Constraints(30, 2)], ids=str)
@pytest.mark.parametrize("search", [greedy, partial(beam, beam_size=4, n_best=4)], ids=["greedy", "beam"])
def test_where_only_repetitions_are_left_a_hypothesis_ends(make_toy, search, constraints: Constraints):
    """Three words: `min_length` cannot be reached without a repetition, so that EOS follows when nothing else may."""
    toy = make_toy(4, 6, seed=3, ending=-20.0)
    result = search(toy, toy.memory(), 4, max_lengths=torch.full((4,), 40), constraints=constraints)
    for hypotheses in result:
        for hypothesis in hypotheses if isinstance(hypotheses, list) else [hypotheses]:
            *words, last = hypothesis.tokens
            assert last == EOS and allowed((*words,), constraints) and len(words) < constraints.min_length
            assert not any(allowed((*words, word), constraints) for word in (1, 4, 5))


def test_a_prefix_is_copied_only_where_ngrams_are_looked_up():
    prefix = np.array([[4, 5], [5, 5]])
    assert Constraints(9, 0).extended(prefix, [1, 1, 0], [4, 6, 1]).shape == (3, 0)
    assert Constraints(0, 2).extended(prefix, [1, 1, 0], [4, 6, 1]).tolist() == [[5, 5, 4], [5, 5, 6], [4, 5, 1]]
    assert Constraints(9, 0).prefix([4, 5]).shape == (1, 0)
    assert Constraints(0, 2).prefix([4, 5]).tolist() == [[4, 5]]
    assert Constraints(0, 2).prefix([]).shape == (1, 0)


# The log-probabilities that a search asks for are the model's own, whatever is forbidden, by every stepper.


WANTED = Wanted(np.array([0, 0, 2]), np.array([4, 6, 5]))
FORBIDDEN = Forbidden(np.array([0]), np.array([4]), np.array([False, False, True]))


@pytest.mark.parametrize("forbidden", [None, FORBIDDEN], ids=["free", "forbidden"])
@pytest.mark.parametrize("count", [3, Draws(np.full((3, 2), 0.5), 1.0)], ids=["best", "drawn"])
def test_wanted_tokens_have_the_log_probabilities_of_the_model(make_toy, forbidden, count):
    toy = make_toy(3, 7, seed=0)
    expected = [toy.replay(row, (token,))[0] for row, token in zip(*WANTED, strict=True)]
    step = TorchStepper(toy.step, toy.memory(), toy.init_state(toy.memory()), 3, torch.device("cpu")).step
    with_wanted = step([BOS] * 3, [0, 1, 2], count, forbidden, WANTED)
    step = TorchStepper(toy.step, toy.memory(), toy.init_state(toy.memory()), 3, torch.device("cpu")).step
    without = step([BOS] * 3, [0, 1, 2], count, forbidden)
    assert with_wanted.wanted == pytest.approx(np.array(expected), abs=1e-6)
    assert without.wanted is None
    assert np.array_equal(with_wanted.log_probs, without.log_probs)
    assert np.array_equal(with_wanted.tokens, without.tokens)
