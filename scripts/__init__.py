import signal
import sys
from pathlib import Path

# As a command of the wheel: Ctrl-C ends at once, without a trace, while modules load.
if Path(sys.argv[0]).name.startswith("mt-") and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
