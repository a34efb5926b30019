"""What an entry point imports first. Ctrl-C ends a command at once, without a trace, while its modules load. And
threads that wait for one another leave their processors to other processes.

Importing it is enough where the process is a command of ours. Where an entry point is itself imported, as by a test or
by a process that prepares text, nothing is changed. `mt.errors.reported` lets Ctrl-C raise KeyboardInterrupt again.
"""

import contextlib
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

CLONE = Path(__file__).parents[2]


def is_entry_point(program: Path) -> bool:
    """Returns whether a program is a script of the clone, `mt/__main__.py`, or an installed command."""
    return (
        program.name == "mt"
        or program.name.startswith("mt-")
        or program.resolve().parent in (CLONE, CLONE / "scripts", CLONE / "mt", CLONE / "data_prep")
    )


SPINS = "1000"
"""As many as GNU's OpenMP has where it knows of more threads than processors."""
OPENMP = re.compile(r"GOMP_SPINCOUNT|OMP_WAIT_POLICY|KMP_\w+")


def spinning_bound(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variable that bounds how long a thread of OpenMP spins while it waits for the others. Where the
    environment says how threads wait, there is none. Processes inherit it; OpenMP reads it when torch is loaded.

    torch's wheels for Linux have GNU's OpenMP, whose threads spin 300,000 times, some milliseconds. Beside a busy
    process one of two threads often has no processor, and the other one spins in vain for its share of time.
    """
    return {} if any(map(OPENMP.fullmatch, environment)) else {"GOMP_SPINCOUNT": SPINS}


PROGRAM = getattr(sys.modules["__main__"], "__file__", None)
if PROGRAM and is_entry_point(Path(PROGRAM)):
    os.environ.update(spinning_bound(os.environ))
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
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
