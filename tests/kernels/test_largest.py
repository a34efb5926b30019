import pytest
import torch

from mt.kernels.largest import largest


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize(("rows", "size"), [(1, 5), (3, 1000), (9, 8000), (70, 1029)])
def test_equals_topk(rows: int, size: int, count: int) -> None:
    torch.manual_seed(size)
    values = torch.randperm(rows * size).view(rows, size).float()
    values[0, :3] = -torch.inf
    for actual, expected in zip(largest(values, count), values.topk(count), strict=True):
        assert torch.equal(actual, expected)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("column", [0, 77, 7999])
def test_nothing_is_larger_than_what_is_not_a_number(column: int, count: int) -> None:
    values = torch.zeros(9, 8000)
    values[4, column] = torch.nan
    values[4, column - 1] = torch.inf
    best, columns = largest(values, count)
    assert best[4, 0].isnan() and columns[4, 0] == column
    assert not best.isnan()[:4].any()
