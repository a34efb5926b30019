import pytest
import torch

from mt.search.config import (
    SEARCHES,
    BeamConfig,
    GreedyConfig,
    OnlineConfig,
    WaitKConfig,
    decode,
    revised_search,
)
from mt.search.options import MAX_LENGTH
from tests.search.searches import beam, greedy, stepper


@pytest.mark.parametrize("name", SEARCHES)
def test_maximum_lengths_are_a_line_in_the_source_length(name):
    config = SEARCHES[name](max_ratio=1.5, max_extra=4)
    assert [config.longest(length) for length in (1, 2, 10)] == [5, 7, 19]
    bounded = SEARCHES[name](max_ratio=1.5, max_extra=4, max_length=12, min_length=5)
    assert [bounded.longest(length) for length in (1, 2, 10)] == [6, 7, 12]
    widest = SEARCHES[name](max_ratio=100.0, max_extra=MAX_LENGTH)
    assert [widest.longest(length) for length in (1, 1 << 20)] == [MAX_LENGTH, MAX_LENGTH]


def test_revised_keeps_what_the_new_search_has():
    config = BeamConfig(beam_size=4, mode="soft", max_length=30)
    assert revised_search(config, {"n_best": 3}) == config.model_copy(update={"n_best": 3})
    assert revised_search(config, {"name": "greedy"}) == GreedyConfig(mode="soft", max_length=30)
    assert revised_search(config, {"name": "online"}) == OnlineConfig(max_length=30)
    assert revised_search(OnlineConfig(), {"name": "beam", "beam_size": 7}) == BeamConfig(beam_size=7)
    assert revised_search(config, {"name": "wait_k", "k": 5}) == WaitKConfig(k=5, max_length=30)
    assert revised_search(WaitKConfig(k=5), {"name": "greedy"}) == GreedyConfig()


def test_decode_is_the_search_that_was_named(make_toy):
    toy = make_toy(3, 7, seed=9)
    sources = [3, 1, 2]
    longest = torch.tensor([8, 4, 6])
    common = {"max_ratio": 2.0, "max_extra": 2}

    def tokens(actual) -> list[list[tuple[int, ...]]]:
        return [[h.tokens for h in hypotheses] for hypotheses in actual]

    expected = [[h.tokens] for h in greedy(toy, toy.memory(), 3, max_lengths=longest)]
    assert tokens(decode(GreedyConfig(**common), stepper(toy, toy.memory(), 3), sources)) == expected
    config = BeamConfig(beam_size=4, length_penalty=1.0, n_best=2, **common)
    expected = beam(toy, toy.memory(), 3, beam_size=4, max_lengths=longest, length_penalty=1.0, n_best=2)
    assert tokens(decode(config, stepper(toy, toy.memory(), 3), sources)) == tokens(expected)
