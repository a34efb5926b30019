"""`python train.py` in a process that has imported what it needs; `test_torchrun.py` runs it, and sets its `JOB`."""

import os
import signal
import sys
from typing import Any

from mt.__main__ import command

job: dict[str, Any] = globals()["JOB"]
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
for stream, path in ((1, job["out"]), (2, job["err"])):
    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), stream)
os.environ.update(job["environment"])
os.chdir(job["folder"])
once = {argument.partition("=")[0]: argument for argument in job["arguments"]}  # a later one replaces an earlier
sys.argv = ["train.py", *once.values()]
command()
