"""Sums of probabilities as an exported graph has them."""

import pytest
import torch

from mt.kernels.precision import log_cumulated


def test_sums_of_a_graph_lose_no_small_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A term far below a later one, and the logarithm of 0."""
    values = torch.tensor([[-300.0, -301.0, 0.0, -1e30], [-1e30, -5.0, -5.0, 2.0]], dtype=torch.float64)
    expected = values.exp().cumsum(-1).log()
    expected[1, 0] = -1e30
    torch.testing.assert_close(log_cumulated(values), expected)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    torch.testing.assert_close(log_cumulated(values), expected)
