import pytest
from hypothesis import given, strategies as st

from mt.errors import UserError
from mt.metrics.latency import average_lagging, average_proportion, differentiable_average_lagging, latency


@pytest.mark.parametrize(
    ("delays", "source_length", "ap", "al", "dal"),
    [
        ([3, 4, 4, 4], 4, 15 / 16, 3, 3),  # wait-3: AL stops counting at the second token
        ([1, 2, 3, 4], 4, 10 / 16, 1, 1),  # wait-1
        ([4, 4, 4, 4], 4, 1, 4, 4),  # the whole source first
        ([6, 6], 6, 1, 6, 6),
        # Half a target token per source token; DAL's second delay is max(2, 1 + 2) and its third 5.
        ([1, 2, 6], 6, 9 / 18, (1 + 0 + 2) / 3, (1 + 1 + 2) / 3),
        # The end is never read: all three are counted. rate 3/4, delays after DAL's minimum 1, 7/3, 11/3.
        ([1, 1, 1], 4, 3 / 12, (1 + (1 - 4 / 3) + (1 - 8 / 3)) / 3, 1),
        ([0, 0], 2, 0, -0.5, 0),  # writing without reading
    ],
)
def test_by_hand(delays, source_length, ap, al, dal):
    assert average_proportion(delays, source_length) == pytest.approx(ap)
    assert average_lagging(delays, source_length) == pytest.approx(al)
    assert differentiable_average_lagging(delays, source_length) == pytest.approx(dal)


@given(st.integers(1, 20), st.integers(1, 20))
def test_wait_k_on_equal_lengths_lags_k(k, length):
    k = min(k, length)
    delays = [min(k + i, length) for i in range(length)]
    assert average_lagging(delays, length) == pytest.approx(k)
    assert differentiable_average_lagging(delays, length) == pytest.approx(k)


def test_corpus_is_the_mean_over_the_sentences_with_a_token():
    scores = latency([[3, 4, 4, 4], [], [1, 2, 3, 4]], [4, 9, 4])
    assert {name: score.score for name, score in scores.items()} == pytest.approx({"ap": 25 / 32, "al": 2, "dal": 2})
    assert {score.signature for score in scores.values()} == {"n:2|length:hypothesis|average:sentence"}


@pytest.mark.parametrize("measure", [average_proportion, average_lagging, differentiable_average_lagging])
@pytest.mark.parametrize("delays", [[], [2, 1], [1, 5], [-1, 2]])
def test_impossible_delays_are_refused(measure, delays):
    with pytest.raises(ValueError, match=r"^delays must be non-empty and rise within 0\.\.4, not \["):
        measure(delays, 4)


def test_refusals():
    with pytest.raises(UserError, match=r"^there are 1 hypotheses but 2 references: "):
        latency([[1]], [1, 1])
    with pytest.raises(UserError, match=r"^no hypothesis has a token, so there is no latency to measure$"):
        latency([[]], [3])
