from functools import partial

import numpy as np
import pytest
import torch

from mt.errors import UserError
from tests.search.searches import beam, greedy

LONGEST = torch.tensor([9, 1, 4, 9, 12, 2, 7, 30])


def literal(toy, sentence: int, longest: int) -> tuple[int, ...]:
    """Greedy search as a loop over one sentence."""
    prefix = 0
    given = 2
    tokens = []
    while len(tokens) < longest and given != 3:
        prefix = (prefix * 7 + given) % 10007
        logits = toy.tables[sentence, prefix % 97].clone()
        logits[[0, 2]] = -torch.inf
        given = int(logits.argmax())
        tokens.append(given)
    return tuple(tokens)


@pytest.mark.parametrize("seed", range(5))
def test_equals_a_loop_over_single_sentences_with_alignments(make_toy, seed):
    toy = make_toy(8, 7, seed)
    hypotheses = greedy(toy, toy.memory(), 8, max_lengths=LONGEST)
    assert [h.tokens for h in hypotheses] == [literal(toy, b, int(n)) for b, n in enumerate(LONGEST)]
    assert len({len(h.tokens) for h in hypotheses}) > 2
    for sentence, h in enumerate(hypotheses):
        log_prob, weights = toy.replay(sentence, h.tokens)
        assert h.log_prob == h.score == pytest.approx(log_prob, abs=1e-4)
        assert h.weights.tolist() == weights
        assert h.windows.stops is None


def test_a_sentence_alone_equals_the_same_sentence_in_a_batch(make_toy):
    toy = make_toy(8, 7, seed=3)
    together = greedy(toy, toy.memory(), 8, max_lengths=LONGEST)
    for b in range(8):
        (alone,) = greedy(toy, toy.memory([b]), 1, max_lengths=LONGEST[b : b + 1])
        assert alone.tokens == together[b].tokens
        assert alone.log_prob == pytest.approx(together[b].log_prob, abs=1e-6)
        assert np.array_equal(alone.weights, together[b].weights)


def test_finished_sentences_leave_the_batch(make_toy):
    toy = make_toy(8, 7, seed=1)
    hypotheses = greedy(toy, toy.memory(), 8, max_lengths=LONGEST)
    lengths = [len(h.tokens) for h in hypotheses]
    assert [rows for rows, _ in toy.calls] == [sum(n > step for n in lengths) for step in range(max(lengths))]


def test_stops_at_the_maximum_length_without_eos(make_toy):
    toy = make_toy(2, 7, seed=0, ending=-100.0)
    short, long = greedy(toy, toy.memory(), 2, max_lengths=torch.tensor([3, 5]))
    assert (len(short.tokens), len(long.tokens)) == (3, 5)
    assert 3 not in short.tokens + long.tokens
    assert (short.weights.shape, long.weights.shape) == ((3, 3), (5, 3))


def test_keeps_where_a_hard_attention_stopped(make_toy):
    toy = make_toy(2, 7, seed=0, ending=-100.0)
    toy.stops = torch.tensor([[0, 0, 2, 3, 3], [1, 4, 4, 4, 4]])
    first, second = greedy(toy, toy.memory(), 2, max_lengths=torch.tensor([5, 2]))
    assert (first.windows.stops.tolist(), second.windows.stops.tolist()) == ([0, 0, 2, 3, 3], [1, 4])


@pytest.mark.parametrize("search", [greedy, partial(beam, beam_size=1)])
def test_hypotheses_hold_neither_gradients_nor_the_batch(make_toy, search):
    toy = make_toy(8, 7, seed=1)
    toy.tables.requires_grad_()
    for result in search(toy, toy.memory(), 8, max_lengths=LONGEST):
        h = result[0] if isinstance(result, list) else result
        weights = h.windows.weights
        assert weights.flags.owndata or (weights.base.flags.owndata and weights.base.nbytes == weights.nbytes)
        assert h.windows.looked_at is None


def test_refuses_a_model_that_diverged(make_toy):
    toy = make_toy(2, 7, seed=0)
    toy.tables[1] = torch.nan
    with pytest.raises(UserError, match="not finite numbers"):
        greedy(toy, toy.memory(), 2, max_lengths=torch.tensor([5, 5]))
