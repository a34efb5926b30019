"""The batch script for SLURM, with `srun`, `torchrun` and `scontrol` replaced by what they do with signals."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "train.sbatch"
STUBS = {
    "scontrol": 'echo "scontrol $*" >> calls; echo node1; echo node2',
    # Drops its own options, and passes signals on by being replaced.
    "srun": 'while [[ $1 == --* ]]; do shift; done; exec "$@"',
    "torchrun": 'echo "torchrun $*" >> calls; trap "echo saved >> calls; exit 1" TERM; touch begun; '
    "while [ ! -e finish ]; do sleep 0.02; done",
}
JOB = {"SLURM_JOB_ID": "12345", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_NUM_NODES": "2", "SLURM_GPUS_ON_NODE": "4"}
TORCHRUN = (
    "torchrun --nnodes=2 --nproc-per-node=4 --max-restarts=3 --rdzv-backend=c10d --rdzv-endpoint=node1:22345 "
    "--rdzv-id=12345-0 train.py resume=auto folder=outputs/a b attention=mocha"
)


@pytest.fixture
def job(tmp_path: Path, foreground: None) -> subprocess.Popen:
    for name, body in STUBS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, **JOB, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = ["bash", str(SCRIPT), "folder=outputs/a b", "attention=mocha"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment)
    while process.poll() is None and not (tmp_path / "begun").exists():
        time.sleep(0.01)
    return process


@pytest.mark.parametrize(
    ("number", "after"), [(signal.SIGUSR1, ["saved", "scontrol requeue 12345"]), (signal.SIGTERM, ["saved"])]
)
def test_the_run_is_saved_before_the_job_leaves(number: int, after: list[str], job: subprocess.Popen, tmp_path: Path):
    job.send_signal(number)
    assert job.wait(timeout=60) == 75
    assert (tmp_path / "calls").read_text().splitlines() == ["scontrol show hostnames n[1-2]", TORCHRUN, *after]


def test_a_job_that_ends_by_itself_has_the_status_of_its_processes(job: subprocess.Popen, tmp_path: Path):
    (tmp_path / "finish").touch()
    assert job.wait(timeout=60) == 0
    assert (tmp_path / "calls").read_text().splitlines()[1:] == [TORCHRUN]
