"""Samples against a plain loop over the same numbers, and against the probabilities of every sentence."""

import itertools

import numpy as np
import pytest
import torch

from mt.search.config import SampleConfig, decode
from mt.search.processor import Rules
from mt.search.sampling import drawn as drawn_tokens, generators, sample
from mt.search.stepper import Scores
from mt.step import BOS, EOS, PAD
from tests.search.searches import stepper
from tests.search.toys import make_toy

SOURCES = [np.array(ids) for ids in ([5, 6, 3], [5, 3], [9, 4, 4, 3], [3])]
LIMITS = [7, 4, 9, 5]


def drawn(toy, rows: list[int], count: int, *, seed: int = 1, **options) -> list[list[tuple[int, ...]]]:
    drawing = [generators(seed, SOURCES[row], count) for row in rows]
    steps = stepper(toy, toy.memory(rows), len(rows))
    samples = sample(steps, [LIMITS[row] for row in rows], drawing, **options)
    return [[one.tokens for one in of_sentence] for of_sentence in samples]


def literal(toy, row: int, number: int, temperature: float) -> tuple[int, ...]:
    """A sample in float64: no batch, one token after another."""
    numbers = generators(1, SOURCES[row], number + 1)[number]
    prefix = BOS
    tokens: list[int] = []
    while len(tokens) < LIMITS[row] and EOS not in tokens:
        weights = (toy.tables[row, prefix % toy.tables.shape[1]].double() / temperature).exp()
        weights[[PAD, BOS]] = 0
        wanted = numbers.random() * float(weights.sum())
        token = next(token for token, total in enumerate(itertools.accumulate(weights.tolist())) if total > wanted)
        tokens.append(token)
        prefix = (prefix * 7 + token) % 10007
    return tuple(tokens)


@pytest.mark.parametrize("temperature", [1.0, 0.4, 3.0])
def test_samples_are_those_of_a_plain_loop(temperature: float) -> None:
    toy = make_toy(4, 9, seed=3)
    actual = drawn(toy, [0, 1, 2, 3], 8, temperature=temperature)
    expected = [[literal(toy, row, number, temperature) for number in range(8)] for row in range(4)]
    assert actual == expected and len({tokens for of_row in actual for tokens in of_row}) > 15


def test_company_order_and_number_change_nothing() -> None:
    toy = make_toy(4, 12, seed=5)
    together = drawn(toy, [0, 1, 2, 3], 6)
    assert [drawn(toy, [row], 6)[0] for row in range(4)] == together
    assert drawn(toy, [3, 1, 2, 0], 6)[::-1][0] == together[0]
    assert [of_row[:2] for of_row in together] == drawn(toy, [0, 1, 2, 3], 2)
    assert drawn(toy, [0, 1, 2, 3], 6, seed=2) != together
    [narrow], [wide] = (generators(1, SOURCES[0].astype(kind), 1) for kind in (np.int16, np.int64))
    assert narrow.random() == wide.random()


def test_a_sample_says_how_probable_it_is_and_what_it_attended_to() -> None:
    toy = make_toy(4, 9, seed=3)
    steps = stepper(toy, toy.memory(), 4)
    samples = sample(steps, LIMITS, [generators(1, source, 3) for source in SOURCES], temperature=2.0)
    for row, of_row in enumerate(samples):
        for one in of_row:
            log_prob, weights = toy.replay(row, one.tokens)
            assert one.log_prob == one.score == pytest.approx(log_prob, abs=1e-4)
            assert one.windows.dense().tolist() == weights


def test_constraints_hold() -> None:
    toy = make_toy(4, 6, seed=2, ending=2.0)
    for of_row in drawn(toy, [0, 2], 20, processors=[Rules(2, min_length=3, no_repeat_ngram_size=2)]):
        for tokens in of_row:
            pairs = list(itertools.pairwise(tokens))
            assert len(set(pairs)) == len(pairs) and len(tokens) >= 4


def test_numbers_at_the_ends_choose_tokens_that_may_follow() -> None:
    log_probs = np.log(np.array([[0.3, 0.1, 0.2, 0.1, 0.2, 0.1]], np.float32))
    ends = np.array([[0.0, 0.5, np.nextafter(1.0, 0)]])
    result, tokens = drawn_tokens(Scores(log_probs.copy()), ends, 1.0)
    assert tokens.tolist() == [[1, 4, 5]]
    np.testing.assert_allclose(result, np.log([[0.1, 0.2, 0.1]]), rtol=1e-6)
    scores = Scores(log_probs.copy())
    scores.forbid(np.array([0, 0, 0]), np.array([1, 5, EOS]))
    assert drawn_tokens(scores, ends, 1.0)[1].tolist() == [[4, 4, 4]]
    scores.forbid(np.array([0]), np.array([4]))
    assert (drawn_tokens(scores, ends, 1.0)[0] == -np.inf).all()


def test_without_a_utility_the_most_probable_samples_are_reported() -> None:
    toy = make_toy(4, 9, seed=3)
    config = SampleConfig(samples=8, n_best=3, max_length=6, seed=4)
    lengths = [len(source) for source in SOURCES]
    result = decode(config, stepper(toy, toy.memory(), 4), lengths, sources=SOURCES)
    everything = sample(stepper(toy, toy.memory(), 4), [6] * 4, [generators(4, source, 8) for source in SOURCES])
    for best, all_samples in zip(result, everything, strict=True):
        assert [one.score for one in best] == sorted((one.score for one in all_samples), reverse=True)[:3]
    assert torch.is_grad_enabled()
