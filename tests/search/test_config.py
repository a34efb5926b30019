import pytest

from mt.search.config import SEARCHES, BeamConfig, GreedyConfig, OnlineConfig, WaitKConfig, revised_search
from mt.search.options import MAX_LENGTH


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
