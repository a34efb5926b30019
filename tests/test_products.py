"""The short run tries every value of every parameter; what it leaves out are further combinations."""

import itertools

import pytest

from tests.products import SMALL_PRODUCT, SMALL_TABLE, beyond_every_value


def product(*counts: int) -> list[str]:
    values = [[f"{name}{i}" for i in range(count)] for name, count in zip("abc", counts, strict=False)]
    return ["-".join(case) for case in itertools.product(*values)]


@pytest.mark.parametrize(
    ("ids", "enough"),
    [
        ([], 0),
        (product(SMALL_TABLE), SMALL_TABLE),
        (product(2, 2, 2), SMALL_PRODUCT),
        (product(3, 3), 3),
        (product(6, 4)[1:], 23),
        (product(6, 4), 6),
        (product(7, 6), 7),
        (product(4, 4, 3), 4),
        (product(50), 50),
        ([f"same-{i}" for i in range(30)], 30),
    ],
)
def test_few_cases_have_every_value(ids: list[str], enough: int) -> None:
    chosen = [name for name, beyond in zip(ids, beyond_every_value(ids), strict=True) if not beyond]
    assert {item for name in chosen for item in name.split("-")} == {item for name in ids for item in name.split("-")}
    assert len(chosen) == enough
