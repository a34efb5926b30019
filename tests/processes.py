"""Python programs in processes of their own, forked from one that has imported most of what they need: importing it
takes longer than what they do."""

import contextlib
import multiprocessing
import os
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # as train.py does, before it imports torch
CONTEXT = multiprocessing.get_context("forkserver")
# Several processes of one training load the last four late, and each by itself.
CONTEXT.set_forkserver_preload(
    [
        *("mt.cli.training", "mt.training.start", "data_prep.prepare", "tests.training.worker"),
        *("torch._dynamo", "numba", "matplotlib.figure", "sacrebleu.metrics"),
    ]
)


class Program:
    """`python script arguments` that has been started, with the methods of `subprocess.Popen`. Its standard input is
    empty, and `out` and `err` are files of what it writes."""

    def __init__(self, script: Path, arguments: Sequence[object], folder: Path, environment: Mapping[str, Any] = {}):
        """folder: where it runs."""
        texts = Path(tempfile.mkdtemp(prefix="program-"))
        weakref.finalize(self, shutil.rmtree, texts, ignore_errors=True)
        self.out = texts / "out"
        self.err = texts / "err"
        words = [str(script), *map(str, arguments)]
        variables = {name: str(value) for name, value in environment.items()}
        job = (words, str(folder), variables, str(self.out), str(self.err))
        self.process = CONTEXT.Process(target=runpy.run_path, args=(__file__, {"JOB": job}, "__main__"))
        self.process.start()

    @property
    def returncode(self) -> int | None:
        return self.process.exitcode

    def poll(self) -> int | None:
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        # Whoever forked it takes its exit code first, so that it may be gone while `poll` does not know yet.
        with contextlib.suppress(ProcessLookupError):
            if self.process.pid is not None and self.poll() is None:
                os.kill(self.process.pid, number)

    def kill(self) -> None:
        self.process.kill()

    def communicate(self, timeout: float = 300) -> tuple[str, str]:
        """Waits until it has ended, and returns its output and errors."""
        self.process.join(timeout)
        assert self.process.exitcode is not None, "it is still there"
        return self.out.read_text(), self.err.read_text()

    def finish(self, timeout: float = 300) -> str:
        """Waits until it has succeeded, and returns its output."""
        out, err = self.communicate(timeout)
        assert self.returncode == 0, err
        return out


def run(words: list[str], folder: str, environment: dict[str, str], out: str, err: str) -> None:
    """Becomes the program, in a new process."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for descriptor, path in ((0, os.devnull), (1, out), (2, err)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), descriptor)
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = words
    sys.path.insert(0, str(Path(words[0]).parent))
    runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    run(*globals()["JOB"])


def run_shell(command: str, folder: Path) -> None:
    """Runs a command of the shell in a folder, where `python` is this one. It ends with status 0 and no complaint."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, env=os.environ | {"PATH": path})
    assert (done.returncode, done.stderr) == (0, b"")
