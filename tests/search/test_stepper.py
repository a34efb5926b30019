"""The best tokens are those of topk, whatever stores the scores, without those that are forbidden or never chosen."""

import numpy as np
import pytest
import torch

from mt.errors import UserError
from mt.search.hypothesis import NEVER_CHOSEN
from mt.search.stepper import READ, Scores, largest


@pytest.mark.parametrize("count", [1, 2, 5, 40])
@pytest.mark.parametrize(("rows", "size"), [(1, 5), (3, 1000), (70, 1029)])
def test_largest_is_topk(rows: int, size: int, count: int) -> None:
    """Nothing is larger than what is not a number, at either end of a row."""
    torch.manual_seed(size)
    numbers = torch.randperm(rows * size).view(rows, size).float()
    for column in (None, 0, size // 2, size - 1):
        values = numbers.clone()
        if column is not None:
            values[-1, column - 1] = torch.inf
            values[-1, column] = torch.nan
        expected = values.topk(min(count, size))
        before = values.clone()
        for stored in (values, values.numpy()):
            for actual, of_topk in zip(largest(stored, count), expected, strict=True):
                np.testing.assert_array_equal(actual, of_topk)
        torch.testing.assert_close(values, before, rtol=0, atol=0, equal_nan=True)


def test_fewer_than_are_known_are_the_first_of_them() -> None:
    numbers = np.random.default_rng(0).permutation(24).reshape(2, 12).astype(np.float32)
    for count in range(1, 6):
        expected = Scores(numbers.copy()).best(count)
        known = Scores(numbers.copy(), best=Scores(numbers.copy()).best(5))
        for actual, wanted in zip(known.best(count), expected, strict=True):
            np.testing.assert_array_equal(actual, wanted)


LOG_PROBS = np.log(np.array([[0.4, 0.05, 0.3, 0.15, 0.1], [0.2, 0.3, 0.2, 0.2, 0.1]], np.float32))
STORED = {"array": lambda: LOG_PROBS.copy(), "tensor": lambda: torch.from_numpy(LOG_PROBS.copy())}


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_padding_and_bos_are_never_chosen_and_keep_their_probability(stored) -> None:
    log_probs, tokens = Scores(stored()).best(3)
    assert tokens.tolist() == [[3, 4, 1], [1, 3, 4]]
    np.testing.assert_allclose(np.exp(log_probs), [[0.15, 0.1, 0.05], [0.3, 0.2, 0.1]], rtol=1e-6)
    assert (Scores(stored()).every()[:, NEVER_CHOSEN] == -np.inf).all()


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_what_is_forbidden_is_not_chosen_and_restrictions_come_first(stored) -> None:
    scores = Scores(stored(), np.array([1, 0]))  # of the second row, and of the first
    assert np.exp(scores.at(np.array([0, 1]), np.array([1, 3]))) == pytest.approx([0.3, 0.15])
    scores.restrict(np.array([1]), np.array([1, 1]), np.array([1, 4]))
    scores.forbid(np.array([0, 0, 1]), np.array([1, 4, 4]))
    log_probs, tokens = scores.best(2)
    assert tokens[:, 0].tolist() == [3, 4] and tokens[1, 1] == 1
    np.testing.assert_allclose(np.exp(log_probs), [[0.2, 0.0], [0.1, 0.05]], rtol=1e-6)
    own = scores.of(1)
    own.forbid(np.array([0]), np.array([4]))
    assert scores.at(np.array([1]), np.array([4])) == -np.inf and own.best(1)[1].tolist() == [[1]]


def test_a_hypothesis_that_waits_reads() -> None:
    log_probs, tokens = Scores(LOG_PROBS[:1].copy(), np.array([READ, 0])).best(2)
    assert tokens[:, 0].tolist() == [READ, 3] and log_probs[0].tolist() == [0.0, -np.inf]
    log_probs, tokens = Scores(np.zeros((0, 0), np.float32), np.array([READ])).best(2)
    assert tokens.tolist() == [[READ]] and log_probs.tolist() == [[0.0]]


@pytest.mark.parametrize("fault", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("stored", [np.array, torch.tensor], ids=["array", "tensor"])
def test_scores_that_are_not_finite_are_refused(fault: float, stored) -> None:
    values = np.zeros((3, 6), np.float32)
    values[1] = fault
    with pytest.raises(UserError, match=r"scores for the next token are not finite numbers .* decode with an earlier"):
        Scores(stored(values)).best(2)
    with pytest.raises(UserError, match=r"^the model's scores for the next token are not finite numbers"):
        Scores(stored(values)).every()
