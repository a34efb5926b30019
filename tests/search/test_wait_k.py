import numpy as np
import torch

from mt.search.config import GreedyConfig, OnlineConfig, WaitKConfig, decode, is_online, wait_k_of
from mt.search.online import OnlineHypothesis
from tests.search.searches import greedy, stepper, wait_k


def test_delays_are_those_of_the_policy(make_toy):
    """g(t) = min(k + t - 1, |x|), of sources of 6, 1 and 4 tokens."""
    toy = make_toy(3, 7, seed=0, ending=-100.0)
    lengths = [6, 1, 4]
    limits = [5] * 7
    for k, expected in {
        1: [[1, 2, 3, 4, 5], [1] * 5, [1, 2, 3, 4, 4]],
        3: [[3, 4, 5, 6, 6], [1] * 5, [3, 4, 4, 4, 4]],
        9: [[6] * 5, [1] * 5, [4] * 5],
    }.items():
        actual = wait_k(toy, toy.memory(), k, source_lengths=lengths, limits=limits)
        assert [h.delays.tolist() for h in actual] == expected


def test_a_hypothesis_as_long_as_the_source_so_far_allows_waits(make_toy):
    """0 to 4 source tokens read allow 1, 1, 1, 4 and 6 tokens of the target."""
    toy = make_toy(1, 7, seed=0, ending=-100.0)
    limits = [1, 1, 1, 4, 6]
    (result,) = wait_k(toy, toy.memory(), 1, source_lengths=[4], limits=limits)
    assert result.delays.tolist() == [1, 3, 3, 4, 4, 4]


def test_the_rest_is_greedy_search(make_toy):
    toy = make_toy(3, 7, seed=9)
    sources = [3, 1, 2]
    config = WaitKConfig(k=2, max_ratio=2.0, max_extra=2)
    actual = decode(config, stepper(toy, toy.memory(), 3), sources)
    for (h,), expected in zip(actual, greedy(toy, toy.memory(), 3, max_lengths=torch.tensor([8, 4, 6])), strict=True):
        assert isinstance(h, OnlineHypothesis) and len(h.delays) == len(h.tokens)
        assert (h.tokens, h.log_prob, h.score) == (expected.tokens, expected.log_prob, expected.score)
        assert np.array_equal(h.weights, expected.weights) and h.windows.stops is None


def test_which_searches_write_while_they_read():
    assert is_online(WaitKConfig()) and is_online(OnlineConfig()) and not is_online(GreedyConfig())
    assert (wait_k_of(WaitKConfig(k=7)), wait_k_of(OnlineConfig())) == (7, None)
