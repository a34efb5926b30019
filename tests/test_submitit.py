"""Jobs of a sweep that submitit runs, here as processes of this machine: preempted, they end as if nothing had been."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.once import once
from tests.processes import Program
from tests.training.runs import last_update, left

from .test_end_to_end import OPTIONS, train

__all__ = ["train"]  # a fixture

submitit = pytest.importorskip("submitit", reason="submitit is not installed: pip install -e '.[slurm]'")
config = pytest.importorskip("hydra_plugins.hydra_submitit_launcher.config")


def processes(folder: Path) -> Iterator[int]:
    """Those in which submitit runs jobs of a sweep in this folder."""
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue  # it has just ended
        if b"submitit.core._submit" in line and str(folder).encode() in line:
            yield int(entry.name)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are found in /proc")
@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_a_job_that_is_preempted_has_the_scores_of_one_that_is_not(times, train, texts, tmp_path):
    options = [*OPTIONS, f"dataset.folder={texts}", "training.epochs=4", "training.save_every=null"]
    options = once(*options, "training.validate_every=1000", "training.plots=0")
    train(*options, f"folder={tmp_path / 'straight'}").finish()
    sweep = tmp_path / "sweep"
    run = sweep / "run"
    own = ["hydra/launcher=submitit_local", f"hydra.sweep.dir={sweep}", "hydra.sweep.subdir=run", "resume=auto"]
    job = train("-m", *own, *options)
    for _ in range(times):
        update = last_update(run)
        while job.poll() is None and last_update(run) <= update + 10:
            time.sleep(0.01)
        (number,) = processes(sweep)
        os.kill(number, signal.SIGUSR2)
        while number in processes(sweep):
            time.sleep(0.01)
        assert not (run / "results.json").exists()
    job.finish()
    assert not (sweep / "run-2").exists()
    assert left(run) == left(tmp_path / "straight")


def test_without_slurm_the_launcher_says_so(train: Callable[..., Program], tmp_path: Path) -> None:
    job = train("-m", "hydra/launcher=submitit_slurm", f"hydra.sweep.dir={tmp_path / 'sweep'}", "seed=1,2")
    _, err = job.communicate(timeout=300)
    assert job.returncode == 1
    assert err.startswith('error: the launcher could not run all jobs (Could not detect "srun", are you indeed on')
    assert err.count("\n") == 1
