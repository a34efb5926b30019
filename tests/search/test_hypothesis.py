"""Hypotheses: where they attended, and how a search keeps and follows them."""

from collections import deque

import numpy as np
import pytest
import torch

from mt.search.hypothesis import EMPTY, End, Recorded, Windows, backtrack
from mt.step import Attended, Prediction
from mt.trees import select_rows


def test_select_refuses_what_it_cannot_select_from():
    with pytest.raises(TypeError, match="nested tuples of tensors or None, got list"):
        select_rows(([torch.zeros(2)],), torch.tensor([0]))


def test_log_probabilities_are_computed_in_float32():
    logits = torch.tensor([[0.0, 1.0, 0.5, 2.0, -1.0]], dtype=torch.bfloat16)
    log_probs = Prediction(logits, Attended(logits), ()).log_probs()
    assert log_probs.dtype == torch.float32
    assert log_probs.argmax().item() == 3
    # log(e^2 / (1 + e + e^0.5 + e^2 + e^-1)); the nearest bfloat16 is -0.57422.
    assert log_probs[0, 3].item() == pytest.approx(-0.574438, abs=1e-5)


THREE = Windows(np.array([0.25, 0.75, 1.0, 0.5, 0.5], np.float32), np.array([2, 0, 0, 1]), np.array([2, 1, 0, 2]))


def test_a_dense_view_puts_each_window_where_it_is():
    expected = [[0, 0, 0.25, 0.75], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0.5, 0.5, 0]]
    assert THREE.dense().tolist() == expected
    assert THREE.dense(6).tolist() == [[*row, 0, 0] for row in expected]
    assert THREE.dense(3).tolist() == [row[:3] for row in expected]
    assert THREE.dense().dtype == np.float32


def test_the_peak_is_the_first_of_the_largest_weights():
    assert THREE.peaks() == [3, 0, -1, 1]
    rows = np.array([[0.25, 0.5, 0.5], [0.0, 0.0, 0.0]], np.float32)
    assert Windows.whole(rows).peaks() == [1, -1]


@pytest.mark.parametrize("shape", [(3, 5), (1, 1), (0, 0), (0, 4)])
def test_of_the_whole_source_it_is_the_matrix(shape: tuple[int, int]):
    rows = np.random.default_rng(1).random(shape, np.float32)
    windows = Windows.whole(rows)
    assert np.array_equal(windows.dense(shape[1]), rows)
    assert np.shares_memory(windows.weights, rows) == bool(rows.size)
    assert windows.peaks() == [int(np.argmax(row)) for row in rows]
    assert EMPTY.dense(7).shape == (0, 7) and EMPTY.peaks() == []


def owned(part: np.ndarray) -> bool:
    """Whether an array keeps no more memory than its own."""
    whole = part if part.base is None else part.base
    return whole.flags.owndata and whole.nbytes == part.nbytes


def test_a_search_keeps_windows_as_wide_as_they_are():
    """Two steps of three rows, of which one attends to three positions, one to one, one stops nowhere."""
    history = deque[Recorded]()
    ones = np.array([[1.0], [1.0], [0.0]], np.float32)
    wide = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], np.float32)
    energies = np.array([1, 2, 3])
    narrow = Attended(ones, np.array([4, 5, -1]), np.array([4, 5, 0]), energies)
    history.append(Recorded([2, 2, 2], [0, 1, 2], narrow, [0.0] * 3))
    attention = Attended(wide, np.array([9, 4, -1]), np.array([7, 4, 0]), 100 * energies)
    history.append(Recorded([7, 8, 9], [1, 0, 2], attention, [0.0] * 3))
    result = backtrack(history, [End(0.0, 0.0, *place, 3) for place in ((2, 0), (2, 1), (2, 2), (1, 1))])
    assert [h.windows.weights.tolist() for h in result] == [[1.0, 0.5, 0.25, 0.25], [1.0, 1.0], [], [1.0]]
    assert [h.windows.first.tolist() for h in result] == [[5, 7], [4, 4], [0, 0], [5]]
    assert [h.windows.widths.tolist() for h in result] == [[1, 3], [1, 1], [0, 0], [1]]
    assert [h.windows.looked_at.sum() for h in result] == [102, 201, 303, 2]
    assert [h.windows.stops.tolist() for h in result] == [[5, 9], [4, 4], [-1, -1], [5]]
    for h in result:
        assert all(owned(part) for part in h.windows), "it does not keep the others"
    assert len(history) == 0, "what it kept is free"
