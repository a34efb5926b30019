"""The command train: prepare, train, validate, test, draw. `mt train`, `python train.py` and `mt-train` are this."""

import os
from collections.abc import Sequence

from mt.training.signals import leave_at_once


def command(arguments: Sequence[str]) -> None:
    """Trains what conf/config.yaml and the command line say."""
    rank = os.environ.get("RANK")  # as `torchrun` sets it
    leave_at_once(int(rank) if rank else None)
    # Signals of a queue are heard while this loads torch, which takes seconds.
    from mt.cli.training import run_jobs

    run_jobs(arguments)
