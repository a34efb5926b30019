"""Ends long work from within: a search asks before each of its steps whether it is to go on.

    with asking(refuse_when_late):
        translator.translate(texts)  # raises what `refuse_when_late` raises, at the next step

Each thread has a question of its own, and by default none.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Ask = Callable[[], None]
"""Returns where the work is to go on, and raises an exception where it is to end."""
_ASK: ContextVar[Ask | None] = ContextVar("ask", default=None)


@contextmanager
def asking(ask: Ask) -> Iterator[None]:
    """Returns a context in which this thread's searches ask before each step."""
    # Restored at the end, so that contexts may be nested.
    token = _ASK.set(ask)
    try:
        yield
    finally:
        _ASK.reset(token)


def go_on() -> None:
    """Asks whether to go on. Raises what the question raises, where there is one."""
    ask = _ASK.get()
    if ask is not None:
        ask()
