"""The one exception for what a user can mend, and the one place that prints it."""

import contextlib
import difflib
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


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Around an entry point: what a user can mend becomes a sentence on standard error, status 2; Ctrl-C gives 130."""
    try:
        yield
    except (UserError, OSError) as error:
        # A full disk or a folder that may not be written is nobody's bug either, and says what it is.
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as interrupt:
        print(f"interrupted{': ' if interrupt.args else ''}{interrupt}", file=sys.stderr)
        sys.exit(130)
