"""Runs a batch of which single items may be impossible."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Failure = TypeVar("Failure", bound=Exception)


def each(
    do: Callable[[Sequence[Item]], Sequence[Result]], items: Sequence[Item], failure: type[Failure]
) -> list[Result | Failure]:
    """Returns the result of each item of a batch, or the error that it causes. Where a batch fails it is done again in
    halves, so that only an impossible item fails.

    failure: the type of error that a single item may cause; any other is raised.
    """
    try:
        return [*do(items)]
    except failure as error:
        # A batch of none can fail, too, and then has no results.
        if len(items) <= 1:
            return [error for _ in items]
    # Outside the handler, so that errors of the halves do not drag this one along.
    half = len(items) // 2
    return [*each(do, items[:half], failure), *each(do, items[half:], failure)]
