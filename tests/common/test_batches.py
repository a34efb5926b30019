"""An item that cannot be done fails alone."""

from collections.abc import Sequence

import pytest

from mt.common.batches import each
from mt.errors import UserError


def inverted(items: Sequence[int]) -> list[float]:
    if 0 in items:
        raise UserError(f"{len(items)} items have a zero")
    return [1 / item for item in items]


@pytest.mark.parametrize("items", [[], [4], [0], [1, 2, 0, 4, 0], [0, 0], [2, 4, 8]])
def test_an_item_that_cannot_be_done_fails_alone(items: list[int]) -> None:
    for item, result in zip(items, each(inverted, items, UserError), strict=True):
        assert str(result) == "1 items have a zero" if item == 0 else result == 1 / item


def test_other_errors_are_of_the_whole_batch() -> None:
    with pytest.raises(UserError):
        each(inverted, [1, 0], ValueError)
