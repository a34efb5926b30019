"""Sets up the process of a command, before torch is loaded. An import changes nothing of a process; entry points call
`set_up`, and nobody else does."""

import os
import re
import signal
import warnings
from collections.abc import Mapping

from mt.common.memory import keep_freed

SPINS = "1000"
"""As many as GNU's OpenMP has where it knows of more threads than processors."""
OPENMP = re.compile(r"GOMP_SPINCOUNT|OMP_WAIT_POLICY|KMP_\w+")


def set_up() -> None:
    """Sets up this process as that of a command."""
    # Threads that wait for one another leave their processors to other processes.
    os.environ.update(spinning_bound(os.environ))
    keep_freed()
    # Launchers of plugins have a schema of the name of our choice.
    warnings.filterwarnings("ignore", r"\s*'hydra/launcher/\w+' is validated against ConfigStore", UserWarning)
    # Ctrl-C ends the command at once, without a trace, while its modules load, until `mt.errors.reported`.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def spinning_bound(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variable that bounds how long a thread of OpenMP spins while it waits for the others. Where the
    environment says how threads wait, there is none. Processes inherit it; OpenMP reads it when torch is loaded.

    torch's wheels for Linux have GNU's OpenMP, whose threads spin 300,000 times, some milliseconds. Beside a busy
    process one of two threads often has no processor, and the other one spins in vain for its share of time.
    """
    return {} if any(map(OPENMP.fullmatch, environment)) else {"GOMP_SPINCOUNT": SPINS}
