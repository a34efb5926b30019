"""Products by either library are those in float64, to what float32 promises, of matrices laid out in any way."""

import itertools

import pytest
import torch
from torch import Tensor

from mt.kernels import matmul
from mt.kernels.matmul import product
from mt.kernels.processor import Processor


@pytest.fixture(params=[False, True], ids=["torch", "onednn"])
def library(request, monkeypatch) -> None:
    if request.param and not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")):
        pytest.skip("this torch has no linear layer by oneDNN")
    monkeypatch.setattr(matmul, "_mkl_is_slow", lambda: request.param)


def layouts(rows: int, columns: int) -> list[Tensor]:
    """Rows first, columns first, and a part of a larger matrix."""
    return [torch.randn(rows, columns), torch.randn(columns, rows).T, torch.randn(rows, columns + 3)[:, 1:-2]]


@pytest.mark.parametrize(("rows", "inner", "columns"), [(1, 7, 5), (33, 64, 40), (5, 1, 1)])
def test_equals_float64(library, rows, inner, columns):
    bias = torch.randn(columns)
    for left, right in itertools.product(layouts(rows, inner), layouts(inner, columns)):
        expected = left.double() @ right.double()
        for added in (None, bias):
            found = product(left, right, added)
            assert found.dtype == torch.float32 and found.shape == (rows, columns)
            assert torch.allclose(found.double(), expected + (0 if added is None else added), rtol=1e-5, atol=1e-4)


def test_nothing_given_is_changed(library):
    left, right, added = torch.randn(4, 6), torch.randn(6, 3), torch.randn(3)
    before = [tensor.clone() for tensor in (left, right, added)]
    product(left, right, added)
    assert all(torch.equal(*pair) for pair in zip(before, (left, right, added), strict=True))


@pytest.mark.parametrize("told", [Processor(), Processor("GenuineIntel", frozenset({"avx512f"}))])
def test_takes_torch_where_mkl_is_fast_or_the_processor_unknown(monkeypatch, told: Processor) -> None:
    monkeypatch.setattr(matmul, "processor", lambda: told)
    assert not matmul._mkl_is_slow.__wrapped__()
