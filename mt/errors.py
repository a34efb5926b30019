"""The one exception for what a user can mend, and the one place that prints it."""

import contextlib
import difflib
import signal
import sys
from collections.abc import Iterable, Iterator


class UserError(Exception):
    """Something a user can mend. The message is one sentence: what was wrong, what was expected, what to do."""


def nearest(wrong: str, known: Iterable[str]) -> str:
    """A clause that lists what exists and, where a known name is close to `wrong`, suggests it.

    >>> nearest("mocah", ["dot", "mocha"])
    'did you mean mocha? There is: dot, mocha'
    """
    names = sorted(known)
    close = difflib.get_close_matches(wrong, names, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return f"{hint}There is: {', '.join(names)}"


class Interrupted(KeyboardInterrupt):
    """A signal asked the program to end. The message, where there is one, says how to go on."""

    def __init__(self, number: int, message: str = "") -> None:
        super().__init__(message)
        self.number = signal.Signals(number)


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Around an entry point: what a user can mend becomes a sentence on standard error, status 2; a signal gives 128
    and its number, 130 for Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as an entry point leaves it while its modules load
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except (UserError, OSError) as error:
        # A full disk or a folder that may not be written is nobody's bug either, and says what it is.
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as interrupt:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C ends at once, without a trace
        number = interrupt.number if isinstance(interrupt, Interrupted) else signal.SIGINT
        by = "" if number == signal.SIGINT else f" by {number.name}"
        print(f"interrupted{by}{': ' if str(interrupt) else ''}{interrupt}", file=sys.stderr)
        sys.exit(128 + number)
