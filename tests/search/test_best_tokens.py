"""The best tokens of long rows are those of topk, without those that are never chosen."""

import pytest
import torch

from mt.search.best_tokens import best_tokens
from mt.search.hypothesis import NEVER_CHOSEN


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize(("rows", "size"), [(1, 5), (3, 1000), (9, 8000), (70, 1029)])
def test_equals_topk(rows: int, size: int, count: int) -> None:
    """Nothing is larger than what is not a number, at either end of a row."""
    torch.manual_seed(size)
    values = torch.randperm(rows * size).view(rows, size).float()
    values[0, :3] = -torch.inf
    for column in (None, 0, size // 2, size - 1):
        if column is not None:
            values[-1, column - 1] = torch.inf
            values[-1] = values[-1].nan_to_num(nan=-1.0)
            values[-1, column] = torch.nan
        chosen_from = values.index_fill(1, torch.tensor(NEVER_CHOSEN), -torch.inf)
        for actual, expected in zip(best_tokens(values.clone(), count), chosen_from.topk(count), strict=True):
            torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)
