"""Which cases of a test the short run takes: of a product of parameters, enough to try every value of each once."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

SMALL_PRODUCT = 8
"""Cases of all combinations of some values up to which all of them are run."""
SMALL_TABLE = 24
"""The same of cases that are no such product: a table of examples."""


def exhaustive(*cases: Any) -> list[Any]:
    """Returns cases for `parametrize` that the run of all tests alone takes. A tuple has several values."""
    tuples = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*values, marks=pytest.mark.exhaustive) for values in tuples]


def chosen(cases: Iterable[Any], *short: Any) -> list[Any]:
    """Returns the cases for `parametrize`, of which the short run takes those of `short` alone."""
    return [each for case in cases for each in ([case] if case in short else exhaustive(case))]


def beyond_every_value(ids: Sequence[str]) -> list[bool]:
    """Returns for each case of a test, named by the values of its parameters with hyphens between, whether others that
    are chosen have all of its values: such a case repeats them in another combination.

    Cases with the most new values are chosen first, so that of a product of n and m values max(n, m) cases are enough,
    and of a table in which each case has a value of its own all are chosen.
    """
    values_of_cases = [name.split("-") for name in ids]
    if len(ids) <= (SMALL_PRODUCT if _is_product(values_of_cases) else SMALL_TABLE):
        return [False] * len(ids)
    cases = [set(enumerate(values)) for values in values_of_cases]
    seen: set[tuple[int, str]] = set()
    chosen: set[int] = set()
    for wanted in range(max(map(len, cases)), 0, -1):
        for number, values in enumerate(cases):
            if number not in chosen and len(values - seen) >= wanted:
                chosen.add(number)
                seen |= values
    return [number not in chosen for number in range(len(ids))]


def _is_product(cases: Sequence[Sequence[str]]) -> bool:
    """Returns whether the cases are all combinations of the values that each parameter has."""
    if len({len(values) for values in cases}) != 1:
        return False
    return len(cases) == math.prod(len(set(column)) for column in zip(*cases, strict=True))
