"""Each strategy of a linear layer equals a float64 product, in values and gradients, whatever the processor."""

import itertools

import pytest
import torch
from torch import Tensor, nn

from mt.kernels import linear
from mt.kernels.linear import FEW, THREAD, Linear, few_rows, matrix_product, plain, product_loop
from mt.kernels.processor import Processor
from tests.marks import combined

compiled = pytest.mark.skipif(product_loop() is None, reason="numba cannot compile here")
AMD = Processor("AuthenticAMD", frozenset({"avx512f"}))


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def layouts(rows: int, columns: int) -> list[Tensor]:
    """Rows first, columns first, and a part of a larger matrix."""
    return [drawn(rows, columns), drawn(columns, rows).T, drawn(rows, columns + 3)[:, 1:-2]]


@pytest.mark.parametrize("compute", [plain, pytest.param(few_rows, marks=compiled)])
@combined(rows=range(FEW + 2), outputs=[1, 33])
@torch.no_grad()
def test_products(compute: linear.Strategy, rows: int, outputs: int) -> None:
    for weight, given, bias in itertools.product(layouts(outputs, 77), layouts(rows, 77), (None, drawn(outputs))):
        expected = nn.functional.linear(given.double(), weight.double(), None if bias is None else bias.double())
        actual = compute(given, weight, bias)
        assert actual.shape == (rows, outputs)
        torch.testing.assert_close(actual.double(), expected, rtol=1e-5, atol=5e-5)
        if compute is few_rows:  # to the last bit, whatever the other rows are
            assert all(
                torch.equal(compute(row[None], weight, bias)[0], of_row)
                for row, of_row in zip(given, actual, strict=True)
            )


@compiled
@torch.no_grad()
@pytest.mark.usefixtures("three_threads")
def test_products_of_few_rows_in_threads() -> None:
    """Of any number of outputs, and of rows of more dimensions. Sums of whole numbers are exact in any order."""
    numbers = drawn(4 * THREAD).round_()
    for outputs in (1, 2, 3, 100):
        size = 3 * THREAD // outputs + 1
        weight = numbers[: outputs * size].view(outputs, size)
        bias = drawn(outputs).round_()
        for rows in (numbers[-size:], numbers[-size:].view(1, 1, size)):
            assert torch.equal(few_rows(rows, weight, bias), nn.functional.linear(rows, weight, bias))


@pytest.mark.parametrize("processor", [AMD, Processor()], ids=["oneDNN", "MKL"])
@pytest.mark.parametrize(("rows", "inner", "columns"), [(1, 7, 5), (33, 64, 40), (5, 1, 1)])
def test_matrix_products(processor, rows, inner, columns, monkeypatch):
    """By either library, where the processor suits and torch has it."""
    monkeypatch.setattr(linear, "processor", lambda: processor)
    for left, right in itertools.product(layouts(rows, inner), layouts(inner, columns)):
        for bias in (None, drawn(columns)):
            before = left.clone(), right.clone()
            expected = left.double() @ right.double() + (0 if bias is None else bias)
            actual = matrix_product(left, right, bias)
            assert actual.dtype == torch.float32
            torch.testing.assert_close(actual.double(), expected, rtol=1e-5, atol=1e-4)
            assert torch.equal(left, before[0]) and torch.equal(right, before[1])


def test_an_exact_layer_is_not_rounded_by_autocast() -> None:
    layer = Linear(8, 4, exact=True)
    rows = drawn(2, 8)
    expected = layer(rows)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(layer(rows), expected) and layer(rows.bfloat16()).dtype == torch.bfloat16
