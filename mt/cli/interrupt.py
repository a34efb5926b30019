"""Lets Ctrl-C end a command at once, without a trace, while its modules load: what an entry point imports first.

Where an entry point is itself imported, as by a test or by a process that prepares text, nothing is changed.
`mt.errors.reported` lets Ctrl-C raise KeyboardInterrupt again.
"""

import signal
import sys
from pathlib import Path

CLONE = Path(__file__).parents[2]


def is_entry_point(program: Path) -> bool:
    """Returns whether a program is a script of the clone, `mt/__main__.py`, or an installed command (`mt-train`)."""
    return program.name.startswith("mt-") or program.resolve().parent in (CLONE, CLONE / "scripts", CLONE / "mt")


PROGRAM = getattr(sys.modules["__main__"], "__file__", None)
if PROGRAM and is_entry_point(Path(PROGRAM)) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
