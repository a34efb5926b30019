"""Searches that write while they read: their delays, and what is beside these greedy search."""

import numpy as np
import pytest
import torch

from mt.search.config import OnlineConfig, WaitKConfig, decode
from tests.search.searches import greedy, online, stepper
from tests.search.toys import make_toy


@pytest.mark.parametrize("k", [None, 1, 3, 9])
@pytest.mark.parametrize("seed", range(4))
def test_delays_are_those_of_the_policy(k, seed):
    """In a loop: a token needs what its attention has read, which is all where it selected nothing, or of wait-k
    g(t) = min(k + t - 1, |x|); the tokens in front of it; and a source that allows so many."""
    draw = np.random.default_rng(seed)
    lengths = [6, 4, 5, 1]
    toy = make_toy(4, 7, seed, ending=-100.0)
    toy.stops = torch.from_numpy(np.minimum(draw.integers(-1, 6, (4, 9)), np.array(lengths)[:, None] - 1))
    limits = np.sort(draw.integers(1, 9, 7)).tolist()
    found = online(toy, toy.memory(), source_lengths=lengths, limits=limits, k=k)
    for hypothesis, length, stops in zip(found, lengths, toy.stops.tolist(), strict=True):
        read, expected = 0, []
        for place in range(limits[length]):
            read = max(read, min(k + place, length) if k else length if stops[place] < 0 else stops[place] + 1)
            while limits[read] <= place:
                read += 1
            expected.append(read)
        assert hypothesis.delays.tolist() == expected


@pytest.mark.parametrize("config", [OnlineConfig, WaitKConfig])
def test_the_rest_is_greedy_search(config):
    toy = make_toy(3, 7, seed=9)
    toy.stops = torch.zeros(3, 9, dtype=torch.int64)
    actual = decode(config(max_ratio=2.0, max_extra=2), stepper(toy, toy.memory(), 3), [3, 1, 2])
    for (h,), expected in zip(actual, greedy(toy, toy.memory(), 3, max_lengths=[8, 4, 6]), strict=True):
        assert h.delays is not None and len(h.delays) == len(h.tokens)
        assert (h.tokens, h.log_prob, h.score) == (expected.tokens, expected.log_prob, expected.score)
        assert h.windows == expected.windows
