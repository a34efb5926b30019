"""Products of few rows are `linear`."""

import pytest
import torch
from torch.nn.functional import linear

from mt.kernels import products
from mt.kernels.processor import Processor
from mt.kernels.products import FEW, PARTS, step_linear


@pytest.mark.parametrize("outputs", [2 * PARTS, 2 * PARTS + 1])
@pytest.mark.parametrize("rows", [1, 2, FEW, FEW + 1])
def test_it_is_linear(outputs: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "LARGE", 1)
    monkeypatch.setattr(products, "processor", lambda: Processor("AuthenticAMD"))
    generator = torch.Generator().manual_seed(rows)
    weight, given = torch.randn(outputs, 7, generator=generator), torch.randn(rows, 7, generator=generator)
    bias = torch.randn(outputs, generator=generator)
    expected = linear(given, weight, bias)
    left = []
    monkeypatch.setattr(products, "linear", lambda *arguments: left.append(arguments) or linear(*arguments))
    with torch.no_grad():
        torch.testing.assert_close(step_linear(given, weight, bias), expected)
        torch.testing.assert_close(step_linear(given.T.contiguous().T, weight, bias), expected)
    assert len(left) == (0 if rows <= FEW else 2)


def test_what_needs_a_gradient_or_another_type_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "LARGE", 1)
    monkeypatch.setattr(products, "processor", lambda: Processor("AuthenticAMD"))
    rows, weight, bias = torch.randn(2, 3), torch.randn(PARTS, 3, requires_grad=True), torch.zeros(PARTS)
    assert step_linear(rows, weight, bias).requires_grad
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert step_linear(rows, weight, bias).dtype == torch.bfloat16
