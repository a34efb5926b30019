"""Lets Ctrl-C end a command at once, without a trace, while its modules load: what an entry point imports first.

Importing it is enough where the process is a command of ours. Where an entry point is itself imported, as by a test or
by a process that prepares text, nothing is changed. `mt.errors.reported` lets Ctrl-C raise KeyboardInterrupt again.
"""

import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

CLONE = Path(__file__).parents[2]


def is_entry_point(program: Path) -> bool:
    """Returns whether a program is a script of the clone, `mt/__main__.py`, or an installed command."""
    return (
        program.name == "mt"
        or program.name.startswith("mt-")
        or program.resolve().parent in (CLONE, CLONE / "scripts", CLONE / "mt")
    )


PROGRAM = getattr(sys.modules["__main__"], "__file__", None)
if PROGRAM and is_entry_point(Path(PROGRAM)) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Lets Ctrl-C inside end the process at once, as is right for a command that loads modules. Where a module is in
    the midst of its C++, an exception would end the process with a trace all the same."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # as in the background, where it is ignored
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
