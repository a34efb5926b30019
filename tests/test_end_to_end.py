"""`python train.py` as a user runs it: from text to results, killed on the way, and gone on with."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.marks import exhaustive
from tests.once import once
from tests.processes import ROOT, Program
from tests.training.runs import last_update, left

OPTIONS = [
    "dataset=files", "dataset.source=en", "dataset.target=de", "dataset.tokenizer.model_type=word",
    "embedding.embedding_dim=16", "encoder.hidden_size=8", "decoder.hidden_size=16", "decoder.readout_size=16",
    "attention=mocha",
    "optimizer.warmup=5", "search=greedy", "device=cpu",
    "training.epochs=3", "training.batch_tokens=100", "training.save_every=3", "training.average_checkpoints=2",
    "training.log_every=1", "training.plots=1",
]  # fmt: skip


@pytest.fixture
def train(texts: Path, tmp_path: Path) -> Callable[..., Program]:
    return lambda *arguments: Program(ROOT / "train.py", once(*arguments), tmp_path)


def test_killed_at_a_random_moment_and_resumed_it_ends_as_if_nothing_had_been(train, texts, tmp_path):
    options = [*OPTIONS, f"dataset.folder={texts}"]
    straight = tmp_path / "straight"
    killed = tmp_path / "killed"
    out = train(*options, f"folder={straight}").finish()
    assert "\n  bleu  " in out and "nrefs:" not in out and out.endswith(f"{straight}\n")
    assert "\nupdate " in out and "\r" not in out

    total = last_update(straight)
    # Anywhere from the first checkpoint on, in the middle of an epoch or of writing a checkpoint as it may fall.
    moment = random.randrange(4, total // 2)
    delay = random.random() / 50
    process = train(*options, f"folder={killed}")
    while process.poll() is None and last_update(killed) < moment:
        time.sleep(0.002)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL and not (killed / "results.json").exists()

    train(f"resume={killed}").finish()
    assert left(killed) == left(straight), f"killed {delay:.3f} s after update {moment} of {total}"


ENDING = {number: (f"interrupted by {number.name}", 75) for number in (signal.SIGTERM, signal.SIGUSR1)}
ENDING |= {signal.SIGINT: ("interrupted", 130), signal.SIGHUP: ("interrupted by SIGHUP", 129)}


@pytest.mark.parametrize("number", [signal.SIGTERM, *exhaustive(signal.SIGINT, signal.SIGUSR1, signal.SIGHUP)])
def test_a_signal_before_the_first_checkpoint(number: int, train: Callable[..., Program], texts: Path, tmp_path: Path):
    run = tmp_path / "run"
    options = ("training.epochs=1000", "training.save_every=null", "training.validate_every=100000")
    process = train(*OPTIONS, f"dataset.folder={texts}", f"folder={run}", *options)
    while process.poll() is None and not last_update(run):
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    beginning, status = ENDING[number]
    assert process.returncode == status, err
    assert "Traceback" not in err
    update = json.loads((run / "checkpoints/last/meta.json").read_text())["update"]
    assert update >= 1 and not (run / ".lock").exists()
    saved = f"the checkpoint of update {update} is complete; resume with `mt train resume={run}`"
    assert err.splitlines()[-1] == f"{beginning}: {saved}"


def test_interrupts_one_after_another_leave_no_trace(train: Callable[..., Program], texts: Path, tmp_path: Path):
    run = tmp_path / "run"
    process = train(*OPTIONS, f"dataset.folder={texts}", f"folder={run}", "training.epochs=1000")
    while process.poll() is None and not (run / "checkpoints/last").exists():
        time.sleep(0.01)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT) and "Traceback" not in err, err
    assert json.loads((run / "checkpoints/last/meta.json").read_text())["update"] >= 3


COMMANDS = [
    path.relative_to(ROOT)
    for path in sorted((ROOT / "scripts").glob("[!_]*.py"))
    # The one is for those who work on the code, the other is imported by SimulEval.
    if path.stem not in ("benchmark", "simuleval_agent")
]
STARTS = [
    (Path("train.py"), 0.3),
    *exhaustive((Path("scripts/translate.py"), 0.7), *((Path("train.py"), delay) for delay in (0.1, 0.7, 1.5, 3.0))),
    # Tools of developers load their modules before anything handles signals.
    *exhaustive(*((path, 0.3) for path in COMMANDS if "import call" in path.read_text(encoding="utf-8"))),
]


def signalled(script: Path, delay: float, numbers: list[int], folder: Path, *arguments: str) -> tuple[int, bytes]:
    """Starts a script, sends it signals after so many seconds, and returns its status and errors."""
    # The interpreter itself begins before, and knows of no script yet.
    program = f"import runpy; print(flush=True); runpy.run_path({str(ROOT / script)!r}, run_name='__main__')"
    command = [sys.executable, "-c", program, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        for number in numbers:
            process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert b"Traceback" not in err, err
    return process.returncode, err


@pytest.mark.parametrize(("script", "delay"), STARTS, ids=str)
@pytest.mark.usefixtures("foreground")
def test_an_interrupt_while_modules_load_leaves_no_trace(script: Path, delay: float, tmp_path: Path) -> None:
    status, err = signalled(script, delay, [signal.SIGINT], tmp_path, f"resume={tmp_path}")
    assert status in (130, -signal.SIGINT, 1, 2), err  # 1, 2: it was faster


@pytest.mark.parametrize("delay", [0.3, *exhaustive(1.5, 3.0)])
@pytest.mark.usefixtures("foreground")
def test_signals_of_a_queue_while_modules_load_leave_with_its_status(delay: float, tmp_path: Path) -> None:
    options = ["resume=auto", f"folder={tmp_path / 'run'}", "dataset.workers=1"]
    numbers = [signal.SIGUSR2, signal.SIGTERM, signal.SIGUSR1]
    status, err = signalled(Path("train.py"), delay, numbers, tmp_path, *options)
    assert status == 75, err
    # A quick machine has made updates after three seconds.
    ends = (b": no update is lost; run the same command again", f"train.py resume={tmp_path / 'run'}`".encode())
    assert err.splitlines()[-1].endswith(ends), err
