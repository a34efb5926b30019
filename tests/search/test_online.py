"""Searches that write while they read: their delays, and what is beside these greedy search."""

import pytest
import torch

from mt.search.config import OnlineConfig, WaitKConfig, decode
from tests.search.searches import greedy, online, stepper


def test_delays_count_the_source_tokens_read_so_far(make_toy):
    """A padded batch of width 6; -1 is where nothing was selected. Sources of 6, 4 and 5 tokens."""
    toy = make_toy(3, 7, seed=0, ending=-100.0)
    toy.stops = torch.tensor([[0, 0, 2, 5, 5], [1, 3, -1, -1, -1], [3, 2, -1, 4, 4]])
    first, second, third = online(toy, toy.memory(), source_lengths=[6, 4, 5], limits=[3, 3, 3, 3, 3, 4, 5])
    assert first.delays.tolist() == [1, 1, 3, 6, 6]
    assert second.delays.tolist() == [2, 4, 4]
    # A delay never falls: what was read stays read.
    assert third.delays.tolist() == [4, 4, 5, 5]


def test_a_hypothesis_as_long_as_the_source_so_far_allows_waits(make_toy):
    """0 to 4 source tokens read allow 1, 1, 3, 4 and 6 tokens of the target."""
    toy = make_toy(1, 7, seed=0, ending=-100.0)
    toy.stops = torch.tensor([[0, 0, 0, 2, 2, 2]])
    (result,) = online(toy, toy.memory(), source_lengths=[4], limits=[1, 1, 3, 4, 6])
    assert result.delays.tolist() == [1, 2, 2, 3, 4, 4]
    toy.stops = torch.tensor([[3, 0, 0, 0, 0, 0]])
    (result,) = online(toy, toy.memory(), source_lengths=[4], limits=[1, 1, 3, 4, 6])
    assert result.delays.tolist() == [4] * 6


def test_delays_of_wait_k_are_those_of_the_policy(make_toy):
    """g(t) = min(k + t - 1, |x|), of sources of 6, 1 and 4 tokens, unless the source so far allows no more tokens."""
    toy = make_toy(3, 7, seed=0, ending=-100.0)
    for k, expected in {
        1: [[1, 2, 3, 4, 5], [1] * 5, [1, 2, 3, 4, 4]],
        3: [[3, 4, 5, 6, 6], [1] * 5, [3, 4, 4, 4, 4]],
        9: [[6] * 5, [1] * 5, [4] * 5],
    }.items():
        result = online(toy, toy.memory(), source_lengths=[6, 1, 4], limits=[5] * 7, k=k)
        assert [h.delays.tolist() for h in result] == expected
    (result,) = online(toy, toy.memory([0]), source_lengths=[4], limits=[1, 1, 1, 4, 6], k=1)
    assert result.delays.tolist() == [1, 3, 3, 4, 4, 4]


@pytest.mark.parametrize("config", [OnlineConfig, WaitKConfig])
def test_the_rest_is_greedy_search(make_toy, config):
    toy = make_toy(3, 7, seed=9)
    toy.stops = torch.zeros(3, 9, dtype=torch.int64)
    actual = decode(config(max_ratio=2.0, max_extra=2), stepper(toy, toy.memory(), 3), [3, 1, 2])
    for (h,), expected in zip(actual, greedy(toy, toy.memory(), 3, max_lengths=torch.tensor([8, 4, 6])), strict=True):
        assert h.delays is not None and len(h.delays) == len(h.tokens)
        assert (h.tokens, h.log_prob, h.score) == (expected.tokens, expected.log_prob, expected.score)
        assert h.windows == expected.windows
