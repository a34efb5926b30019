import math

import pytest
import torch

from mt.search.hypothesis import penalty
from tests.marks import combined
from tests.search.searches import beam, literal_beam, require_found
from tests.search.toys import Markov, make_toy

LONGEST = [9, 1, 4, 9, 12, 2, 7, 15]


@combined(seed=range(4), exponent=[0.0, 0.6, 1.0, 3.0])
def test_a_wide_beam_is_exhaustive_search(exponent, seed):
    """Five tokens, of which two are words: 31 sentences of at most 4 tokens, all of them enumerated."""
    toy = make_toy(5, 5, seed)
    longest = [4, 2, 1, 3, 4]
    assert len(toy.sentences(4)) == 31
    actual = beam(toy, toy.memory(), 5, beam_size=31, max_lengths=longest, length_penalty=exponent, n_best=31)
    for b, hypotheses in enumerate(actual):
        require_found(hypotheses, toy.ranked(b, longest[b], exponent))
        assert sum(math.exp(h.log_prob) for h in hypotheses) <= 1 + 1e-5


@combined(ending=[-1.0, 0.0, 1.5], exponent=[0.0, 0.6, 2.0], width=[1, 2, 3, 5])
def test_equals_a_loop_over_single_sentences(width, exponent, ending):
    """The loop runs to the maximum length: stopping early changes nothing, for any width, penalty and n."""
    toy = make_toy(8, 7, seed=width, sharpness=1.5, ending=ending)
    n_best = (width + 1) // 2
    actual = beam(toy, toy.memory(), 8, beam_size=width, max_lengths=LONGEST, length_penalty=exponent, n_best=n_best)
    for b, hypotheses in enumerate(actual):

        def score(tokens, _):
            return toy.replay(b, tokens)[0] / penalty(len(tokens), exponent)  # noqa: B023

        require_found(hypotheses, literal_beam(toy, width, LONGEST[b], score)[:n_best])


@pytest.mark.parametrize("seed", range(5))
def test_each_hypothesis_keeps_its_own_alignment(seed):
    toy = make_toy(8, 7, seed, sharpness=1.0)
    toy.stops = torch.arange(8 * 15).view(8, 15)
    result = beam(toy, toy.memory(), 8, beam_size=4, max_lengths=LONGEST, length_penalty=1.0, n_best=4)
    seen = 0
    for b, hypotheses in enumerate(result):
        for h in hypotheses:
            log_prob, weights = toy.replay(b, h.tokens)
            assert h.windows.dense().tolist() == weights
            assert h.log_prob == pytest.approx(log_prob, abs=1e-4)
            for length in range(1, len(h.tokens)):
                assert sum(h.log_probs[:length]) == pytest.approx(toy.replay(b, h.tokens[:length])[0], abs=1e-4)
            assert h.windows.stops.tolist() == list(range(15 * b, 15 * b + len(h.tokens)))
            seen += 1
    assert seen == 8 * 4


def test_stops_as_soon_as_nothing_can_win():
    """EOS at once has 0.9; what follows the other tenth would have to score above log 0.9 = -0.105."""
    chain = {2: {3: 0.9, 4: 0.1}, 4: {4: 1.0}}
    toy = Markov(chain)
    beam(toy, (), 1, beam_size=2, max_lengths=[50])
    assert toy.steps == 1
    # With a penalty log 0.1 can still become -2.303 / (55/6)^a: above -0.105 for a = 2, not for a = 1.
    toy = Markov(chain)
    ((best,),) = beam(toy, (), 1, beam_size=2, max_lengths=[50], length_penalty=1.0)
    assert (toy.steps, best.tokens) == (1, (3,))
    toy = Markov(chain)
    ((best,),) = beam(toy, (), 1, beam_size=2, max_lengths=[50], length_penalty=2.0)
    assert (toy.steps, best.tokens) == (50, (4,) * 50)
    # What ends at the limit itself can win, too: log 0.45 / (7/6)^2 = -0.587 is above log 0.55 = -0.598.
    toy = Markov({2: {3: 0.55, 4: 0.45}, 4: {4: 1.0}})
    ((best,),) = beam(toy, (), 1, beam_size=2, max_lengths=[2], length_penalty=2.0)
    assert best.tokens == (4, 4)
    # And of two that are asked for, as soon as nothing can become the second: (5, 3) has 0.2, and (4, 5, 3) 0.27.
    toy = Markov({2: {3: 0.5, 4: 0.3, 5: 0.2}, 4: {3: 0.1, 5: 0.9}, 5: {3: 1.0}})
    ((best, second),) = beam(toy, (), 1, beam_size=3, max_lengths=[9], n_best=2)
    assert (best.tokens, second.tokens) == ((3,), (4, 5, 3))


def test_of_equal_scores_the_first_token_comes_first():
    ((one, other),) = beam(Markov({2: {4: 0.5, 5: 0.5}}), (), 1, beam_size=2, max_lengths=[1], n_best=2)
    assert (one.tokens, other.tokens) == ((4,), (5,))


def test_open_hypotheses_are_computed_and_memory_is_selected_again_only_when_they_change():
    toy = make_toy(8, 7, seed=1)
    beam(toy, toy.memory(), 8, beam_size=3, max_lengths=LONGEST)
    first, *rows = [rows for rows, _ in toy.calls]
    assert first == 8  # of each sentence the empty hypothesis
    assert 8 < rows[0] <= 24
    assert rows == sorted(rows, reverse=True)
    assert len(set(rows)) > 2
    assert any(count % 3 for count in rows)  # hypotheses leave, not sentences alone
    for (before, old), (after, new) in zip(toy.calls, toy.calls[1:], strict=False):
        assert (before == after) == (old == new)


@pytest.mark.parametrize("width", [1, 3])
def test_hypotheses_hold_neither_gradients_nor_the_batch(width):
    toy = make_toy(8, 7, seed=1)
    toy.tables.requires_grad_()
    for hypotheses in beam(toy, toy.memory(), 8, beam_size=width, max_lengths=LONGEST):
        weights = hypotheses[0].windows.weights
        assert weights.flags.owndata or (weights.base.flags.owndata and weights.base.nbytes == weights.nbytes)
        assert hypotheses[0].windows.stops is None and hypotheses[0].windows.looked_at is None
