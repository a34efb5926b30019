"""How long hypotheses may become: the line over the training pairs, who says what, and what was cut."""

import numpy as np
import pytest
import torch

from mt.search.config import (
    SEARCHES,
    BeamConfig,
    GreedyConfig,
    OnlineConfig,
    SampleConfig,
    WaitKConfig,
    decode,
    n_best_search,
    revised_search,
    with_default_limits,
)
from mt.search.options import MAX_LENGTH, fit_length_limits
from tests.refusals.sentences import require_refusal
from tests.search.searches import stepper
from tests.search.toys import make_toy


def allowed(sources: np.ndarray, targets: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    ratio, extra = fit_length_limits(sources, targets)
    search = GreedyConfig(max_ratio=ratio, max_extra=extra)
    return np.array([search.longest(length) for length in lengths])


def test_the_line_lies_half_as_high_again_above_few_pairs() -> None:
    draw = np.random.default_rng(1)
    sources = draw.integers(2, 6, 300)
    targets = 9 * sources + draw.integers(1, 8, 300)
    limits = allowed(sources, targets, sources)
    assert (limits >= 1.4 * targets).all() and (limits <= 4 * targets).all()
    longer = np.array([20, 60])
    assert (allowed(sources, targets, longer) >= 9 * longer + 8).all()  # longer than any that was seen


def test_what_is_added_is_rounded_up() -> None:
    # r is 15 / (10 + 10), so that 1.5 * r * 10 = 11.25 tokens are added.
    assert fit_length_limits(np.full(4, 10), np.full(4, 15)) == (2.25, 12)


def test_of_many_pairs_one_in_a_thousand_may_be_longer() -> None:
    sources = np.full(20_000, 10)
    targets = np.full(20_000, 12)
    plain = fit_length_limits(sources, targets)
    targets[:20] = 5000
    assert fit_length_limits(sources, targets) == plain
    targets[:21] = 5000
    assert fit_length_limits(sources, targets) != plain


def test_the_unit_of_the_source_changes_no_limit() -> None:
    draw = np.random.default_rng(2)
    tokens = draw.integers(20, 60, 500)
    targets = tokens + draw.integers(0, 9, 500)
    by_tokens, by_frames = (allowed(unit * tokens, targets, unit * tokens) for unit in (1, 40))
    np.testing.assert_allclose(by_tokens, by_frames, atol=2)
    places = np.full(500, 64)  # of pictures
    limits = allowed(places, targets, places)
    assert len(set(limits)) == 1 and 1.5 * targets.max() <= limits[0] <= 2 * targets.max()


@pytest.mark.parametrize("name", SEARCHES)
def test_maximum_lengths_are_a_line_in_the_source_length(name):
    config = SEARCHES[name](max_ratio=1.5, max_extra=4)
    assert [config.longest(length) for length in (1, 2, 10)] == [5, 7, 19]
    bounded = SEARCHES[name](max_ratio=1.5, max_extra=4, max_length=12, min_length=5)
    assert [bounded.longest(length) for length in (1, 2, 10)] == [6, 7, 12]
    widest = SEARCHES[name](max_ratio=100.0, max_extra=MAX_LENGTH)
    assert [widest.longest(length) for length in (1, 1 << 20)] == [MAX_LENGTH, MAX_LENGTH]


@pytest.mark.parametrize("length", [1, 3, 17, 1000])
def test_where_nobody_chose_the_line_is_that_of_old(length: int) -> None:
    for options in (BeamConfig(), GreedyConfig(max_ratio=2.0), GreedyConfig(max_extra=10)):
        assert options.longest(length) == 2 * length + 10


RUN = BeamConfig(max_ratio=1.2, max_extra=7)
WIDE = BeamConfig(beam_size=4, mode="soft", max_length=30)


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        # What the new search has is kept.
        (WIDE, {"n_best": 3}, WIDE.model_copy(update={"n_best": 3})),
        (WIDE, {"name": "greedy"}, GreedyConfig(mode="soft", max_length=30)),
        (WIDE, {"name": "online"}, OnlineConfig(max_length=30)),
        (WIDE, {"name": "wait_k", "k": 5}, WaitKConfig(k=5, max_length=30)),
        (OnlineConfig(), {"name": "beam", "beam_size": 7}, BeamConfig(beam_size=7)),
        (WaitKConfig(k=5), {"name": "greedy"}, GreedyConfig()),
        # What is said of the limit takes the place of what was.
        (RUN, {"name": "greedy"}, GreedyConfig(max_ratio=1.2, max_extra=7)),
        (RUN, {"max_length": 100}, BeamConfig(max_length=100)),
        (RUN, {"max_length": 9, "max_ratio": 3.0}, BeamConfig(max_length=9, max_ratio=3.0, max_extra=7)),
        (RUN, {"max_extra": 2}, BeamConfig(max_ratio=1.2, max_extra=2)),
        (RUN, {"max_length": None}, RUN),
        (BeamConfig(max_length=60), {"max_ratio": 3.0}, BeamConfig(max_ratio=3.0)),
    ],
    ids=str,
)
def test_revised(before, changes, after) -> None:
    assert revised_search(before, changes) == after


@pytest.mark.parametrize(
    ("before", "n", "after"),
    [
        # A beam of a run is widened where it has to be, and not to the usual width.
        (BeamConfig(beam_size=3), 2, BeamConfig(beam_size=3, n_best=2)),
        (BeamConfig(beam_size=3), 4, BeamConfig(beam_size=4, n_best=4)),
        (GreedyConfig(max_length=9), 2, BeamConfig(n_best=2, max_length=9)),
        (SampleConfig(samples=4), 2, SampleConfig(samples=4, n_best=2)),
        (SampleConfig(), 3, SampleConfig(samples=3, n_best=3)),
    ],
    ids=str,
)
def test_a_search_for_several(before, n, after) -> None:
    assert n_best_search(before, n) == after


def test_a_bound_of_lengths_leaves_shorter_limits_as_they_are() -> None:
    for options in ({}, {"max_ratio": 2.0}, {"max_ratio": 2.0, "max_length": 900}):
        bounded = GreedyConfig(**options).at_most(500)
        assert [bounded.longest(length) for length in (3, 1000)] == [16, 500]
    assert [GreedyConfig(max_length=length).at_most(500).longest(3) for length in (70, 700)] == [70, 500]


def test_what_is_added_to_nothing_is_refused() -> None:
    sentence = r"^search\.max_extra=5 is added to max_ratio \* \(source tokens\), and "
    require_refusal(lambda: revised_search(BeamConfig(max_length=60), {"max_extra": 5}), sentence)


def test_a_search_without_limits_has_those_of_the_run() -> None:
    limited = GreedyConfig(min_length=2, max_ratio=1.2, max_extra=7)
    assert with_default_limits(GreedyConfig(min_length=2), RUN) == limited
    assert with_default_limits(GreedyConfig(max_length=3), RUN) == GreedyConfig(max_length=3)
    assert with_default_limits(GreedyConfig(max_extra=3), RUN) == GreedyConfig(max_ratio=1.2, max_extra=3)
    assert with_default_limits(WaitKConfig(k=4), BeamConfig(max_length=60)) == WaitKConfig(k=4, max_length=60)


@pytest.mark.parametrize("config", [GreedyConfig, OnlineConfig, WaitKConfig, BeamConfig])
def test_a_hypothesis_knows_that_its_limit_ended_it(config) -> None:
    toy = make_toy(6, 7, seed=9)
    toy.stops = torch.zeros(6, 40, dtype=torch.int64)
    result = decode(config(max_length=4), stepper(toy, toy.memory(), 6), [3, 1, 2, 3, 3, 3])
    assert [best.cut for best, *_ in result] == [len(best.tokens) == 4 and best.tokens[-1] != 3 for best, *_ in result]


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({}, "2 x source length + 10 tokens"),
        ({"max_length": 1500}, "1,500 tokens"),
        ({"max_ratio": 1.5, "max_extra": 4}, "1.5 x source length + 4 tokens"),
        ({"max_ratio": 1.5, "max_length": 60}, "1.5 x source length + 10 tokens, and 60"),
    ],
)
def test_the_limit_in_words(limits, words) -> None:
    assert GreedyConfig(**limits).limit == words
