"""What a process tells of what ended it, and the others with it."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch.distributed as dist

from mt.cli.processes import _cause
from mt.distributed import LostError
from mt.errors import Preempted, UserError
from tests.marks import exhaustive

ROOT = Path(__file__).parents[2]


def test_who_lost_another_to_a_signal_tells_of_the_signal() -> None:
    store = dist.HashStore()
    lost = LostError("go on with resume=RUN")
    assert _cause(lost, store) is lost
    interrupted = Preempted(signal.SIGTERM, "go on with resume=RUN")
    assert _cause(interrupted, store) is interrupted
    result = _cause(lost, store)
    assert isinstance(result, Preempted) and result.status == os.EX_TEMPFAIL
    assert str(result) == "go on with resume=RUN"
    other = UserError("bad")
    assert _cause(other, store) is other


@pytest.mark.usefixtures("foreground")
@pytest.mark.parametrize(("number", "status", "lines"), [(signal.SIGTERM, 75, 0), *exhaustive((signal.SIGINT, 130, 1))])
def test_one_that_waits_for_the_others_hears_signals(number: int, status: int, lines: int, tmp_path: Path) -> None:
    """Also where it has found a stranger at the port, who never answers."""
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(stranger.getsockname()[1])}
        waiting = subprocess.Popen(
            [sys.executable, str(ROOT / "train.py"), "device=cpu"], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
            env=os.environ | meeting | {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2"},
        )  # fmt: skip
        stranger.settimeout(60)
        with stranger.accept()[0]:
            time.sleep(0.5)
            waiting.send_signal(number)
            _, errors = waiting.communicate(timeout=20)
    assert waiting.returncode == status
    assert errors.count("\n") == lines, errors
