"""`torchrun train.py`, and processes that nobody looks after: killed, stopped, told what cannot be."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from mt import checkpoint
from tests.marks import exhaustive
from tests.once import once
from tests.processes import ROOT, Program
from tests.training.runs import last_update, left

OPTIONS = [
    "dataset=files", "dataset.source=en", "dataset.target=de", "dataset.tokenizer.model_type=word", "dataset.workers=1",
    "embedding.embedding_dim=16", "encoder.hidden_size=8", "decoder.hidden_size=16", "decoder.readout_size=16",
    "attention=mocha", "optimizer.warmup=5", "search=greedy", "device=cpu",
    "training.batch_tokens=60", "training.gradient_accumulation=2", "training.save_every=4",
    "training.validate_every=1000000", "training.average_checkpoints=1", "training.log_every=1", "training.plots=0",
]  # fmt: skip
Started = list[Program]
pytestmark = pytest.mark.usefixtures("foreground")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all of them run."""
    return tmp_path_factory.mktemp("several")


@pytest.fixture(scope="module")
def start(texts: Path, place: Path) -> Callable[..., Started]:
    """Starts processes as another launcher than torchrun does, with the same arguments but for `also` of the last."""
    data = f"dataset.folder={texts}"

    def started(size: int, *arguments: str, also: Sequence[str] = (), port: int | None = None) -> Started:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port or probe.getsockname()[1], "WORLD_SIZE": size}
        given = arguments if arguments[0].startswith("resume=") else once(*OPTIONS, data, *arguments)
        programs = []
        for rank in range(size):
            words = [*given, *once(*(also if rank == size - 1 else ()))]
            told = {**meeting, "RANK": rank, "LOCAL_RANK": rank} if size > 1 else {}
            programs.append(Program(ROOT / "train.py", words, place, told))
        return programs

    return started


def ended(program: Program, seconds: float) -> tuple[int, str, str]:
    """Waits for a process, and returns its status, output and errors."""
    out, err = program.communicate(seconds)
    return program.returncode or 0, out, err


def finish(started: Started, seconds: float = 300) -> list[tuple[int, str, str]]:
    try:
        return [ended(one, seconds) for one in started]
    finally:
        for one in started:
            one.kill()


def succeed(started: Started) -> str:
    result = finish(started)
    assert [status for status, *_ in result] == [0] * len(result), result
    assert not any(out for _, out, _ in result[1:]), "process 0 alone prints"
    return result[0][1]


def printed_errors(result: list[tuple[int, str, str]]) -> str:
    """What all of them told on standard error but for notices of signals, and for bars."""
    lines = "".join(err for *_, err in result).splitlines()
    return "\n".join(line for line in lines if line and not re.search("finishing the update|(pairs|shards)/s", line))


def wait_for(ready: Callable[[], bool]) -> None:
    until = time.monotonic() + 240
    while not ready():
        assert time.monotonic() < until
        time.sleep(0.05)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "checkpoints/last" / checkpoint.MODEL)


def same(one: Path, other: Path) -> bool:
    return all(torch.equal(tensor, weights(other)[name]) for name, tensor in weights(one).items())


@pytest.fixture(scope="module")
def straight(start: Callable[..., Started], place: Path) -> Path:
    """A run of two processes that nothing disturbs."""
    before = {*place.iterdir()}
    out = succeed(start(2, "folder=straight", "training.max_updates=40"))
    assert "update    2 batches of 60 tokens, in all 120, of 2 processes" in out
    assert out.rstrip().endswith("straight")
    assert {*place.iterdir()} - before <= {place / "outputs", place / "straight"}, "one run folder"
    assert not [*(place / "outputs/corpora").glob(".seen-*")]
    return place / "straight"


@pytest.mark.slow
def test_an_elastic_restart_goes_on_from_the_last_checkpoint(start, straight, place):
    run = place / "elastic"
    succeed(start(2, f"folder={run}", "training.max_updates=4"))
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=1"]
    words = [sys.executable, *torchrun, str(ROOT / "train.py"), f"resume={run}", "training.max_updates=40"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    agent = subprocess.Popen(words, cwd=place, env=environment, stdout=pipe, stderr=pipe, text=True)
    wait_for(lambda: last_update(run) > 10)
    os.kill(int(Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()[-1]), signal.SIGKILL)
    out, err = agent.communicate(timeout=300)
    assert agent.returncode == 0, err
    (begun,) = re.findall(r"from update (\d+)", out[out.rindex("folder ") :])
    assert 4 < int(begun) < 40
    assert same(run, straight)
    assert left(run)["results"] == left(straight)["results"]


@pytest.mark.parametrize("victim", [1, *exhaustive(0, 2)])
def test_where_one_is_killed_the_others_end(victim: int, start: Callable[..., Started], place: Path) -> None:
    run = place / f"killed-{victim}"
    size = victim + 1 if victim else 2
    options = (f"training.gradient_accumulation={size}", "training.epochs=100000")
    started = start(size, f"folder={run}", *options)
    wait_for(lambda: last_update(run) > 6)
    started[victim].kill()
    result = finish(started, seconds=60)
    others = [status for rank, (status, *_) in enumerate(result) if rank != victim]
    assert others == [1] * (size - 1), result
    sentence = r"error: another process of this run has ended or cannot be reached: the checkpoint of update (\d+) is "
    (number,) = re.findall(sentence, text := printed_errors(result))
    assert text.count("\n") == 0, text
    assert int(number) >= 4
    if victim:  # process 0 has saved what was learnt
        assert checkpoint.load_meta(checkpoint.locate(run, "last")).update >= 6


@pytest.mark.slow
@pytest.mark.parametrize("asked", [0, 1])
def test_a_signal_to_one_ends_all_after_the_same_update(asked, start, straight, place):
    run = place / f"asked-{asked}"
    started = start(2, f"folder={run}", "training.max_updates=40")
    wait_for(lambda: last_update(run) > 6)
    started[asked].send_signal(signal.SIGTERM)
    result = finish(started)
    assert [status for status, *_ in result] == [os.EX_TEMPFAIL] * 2, result
    interruption = f"interrupted by SIGTERM: the checkpoint of update {last_update(run)} is complete; resume with"
    assert re.match(interruption, printed_errors(result)) and "\n" not in printed_errors(result)
    if asked == 0:
        succeed(start(2, f"resume={run}"))
        assert same(run, straight)


@pytest.mark.parametrize(
    ("arguments", "also", "sentence"),
    [
        (
            ["training.gradient_accumulation=1"], [],
            "2 processes share the batches of an update, which are training.gradient_accumulation=1: set it to 2 or a "
            "multiple (of training.batch_tokens=60 each), or start 1",
        ),
        *exhaustive(
            (
                ["training.batch_tokens=100000"], [],
                "2 processes share the batches of an epoch, which are 1: lower training.batch_tokens=100000, or start",
            ),
            ([], ["seed=7"], "seed is 1 in process 0 (on HOST) and 7 in process 1 (on HOST): start all with the same"),
            (["device=cuda:1"], [], "device=cuda:1 is one device, and 2 processes train together: choose device=cuda,"),
            (["attention=mocah"], [], "In 'config': Could not find 'attention/mocah'"),
            (["-m", "seed=1,2"], [], "-m starts several jobs, and torchrun the processes of a single one: leave"),
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_once(arguments, also, sentence, start, place):
    result = finish(start(2, "folder=refused", *arguments, also=also))
    assert [status for status, *_ in result] == [1, 1], result
    assert printed_errors(result).startswith(f"error: {sentence.replace('HOST', socket.gethostname())}")
    assert "\n" not in printed_errors(result)
    assert not (place / "refused/run.json").exists()


@pytest.mark.slow
def test_a_port_in_use(start: Callable[..., Started]) -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        first, second = start(2, "folder=run", port=taken.getsockname()[1])
        status, _, err = ended(first, 60)
        second.kill()
    assert status == 1
    assert re.match(r"error: port \d+ of this machine is in use: choose another with torchrun --master-port, or", err)
