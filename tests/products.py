"""Which cases of a test over a product of parameters are enough to try every value of each parameter once."""

from collections.abc import Sequence

SMALL = 24
"""Cases of a test up to which all of them are run: a table of examples rather than a product."""


def beyond_every_value(ids: Sequence[str]) -> list[bool]:
    """For each case of a test, named by the values of its parameters with hyphens between, whether others that are
    chosen have all of its values: such a case repeats them in another combination.

    Cases with the most new values are chosen first, so that of a product of n and m values max(n, m) cases are enough,
    and of a table in which each case has a value of its own all are chosen.
    """
    if len(ids) <= SMALL:
        return [False] * len(ids)
    cases = [set(enumerate(name.split("-"))) for name in ids]
    seen: set[tuple[int, str]] = set()
    chosen: set[int] = set()
    for wanted in range(max(map(len, cases)), 0, -1):
        for number, values in enumerate(cases):
            if number not in chosen and len(values - seen) >= wanted:
                chosen.add(number)
                seen |= values
    return [number not in chosen for number in range(len(ids))]
