"""Which cases the short run leaves to `pytest --full`: each is marked where it stands, as exhaustive or as slow.
Of examples that are drawn the short run takes fewer."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import settings

FULL = False
"""Whether this is a full run, which conftest.py says."""


def examples(count: int) -> settings:
    """Lets hypothesis try so many examples in the full run, and a fifth of them in the short one."""
    return settings(max_examples=count if FULL else count // 5, deadline=None)


def few(count: int) -> int:
    """Returns how many random cases a loop tries: so many in the full run, and half of them in the short one."""
    return count if FULL else (count + 1) // 2


def exhaustive(*cases: Any) -> list[Any]:
    """Returns cases for `parametrize` that the full run alone takes. A tuple has several values."""
    tuples = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*values, marks=pytest.mark.exhaustive) for values in tuples]


def chosen(cases: Iterable[Any], *short: Any) -> list[Any]:
    """Returns the cases for `parametrize`, of which the short run takes those of `short` alone."""
    return [each for case in cases for each in ([case] if case in short else exhaustive(case))]


def combined(ids: Callable[[Any], str | None] | None = None, /, **values: Iterable[Any]) -> pytest.MarkDecorator:
    """Runs a test with all combinations of its arguments' values. The short run takes a diagonal through them, on
    which each value stands at least once; the other combinations are marked."""
    lists = [list(several) for several in values.values()]
    counts = [len(several) for several in lists]
    diagonal = {tuple(step % count for count in counts) for step in range(max(counts))}
    cases = []
    for places in itertools.product(*map(range, counts)):
        case = [several[place] for several, place in zip(lists, places, strict=True)]
        cases.append(pytest.param(*case, marks=() if places in diagonal else pytest.mark.exhaustive))
    return pytest.mark.parametrize(tuple(values), cases, ids=ids)
