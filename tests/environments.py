"""Virtual environments for tests against others' software, whose packages do not go with ours."""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from mt.storage import locked

ROOT = Path(__file__).parents[1]
_MOST_SECONDS = 180
_UNTRIED = 600
"""Seconds after which an environment that could not be had is tried again."""


def python_with(requirements: Path) -> Path:
    """Returns the Python of an environment with these packages, `NAME-requirements.txt`, besides those of this one. It
    is made once and kept in the user's cache; where it cannot be had, the test is skipped."""
    name = requirements.name.removesuffix("-requirements.txt")
    packages = sysconfig.get_path("purelib")
    key = hashlib.sha256("\n".join((requirements.read_text(), sys.version, packages)).encode()).hexdigest()[:16]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mt-tests" / f"{name}-{key}"
    complete = folder / "complete"
    failed = folder / "failed"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder.with_suffix(".lock"), waiting=lambda: None):
            if not complete.exists():
                if failed.exists() and time.time() - failed.stat().st_mtime < _UNTRIED:
                    pytest.skip(failed.read_text())
                if reason := _made(folder, packages, requirements):
                    failed.write_text(reason)
                    pytest.skip(reason)
                complete.touch()
    except OSError as error:
        pytest.skip(f"no environment for {requirements.name} can be made: {error}")
    return folder / "bin/python"


def _made(folder: Path, packages: str, requirements: Path) -> str | None:
    """Makes the environment; returns why it could not be made."""
    shutil.rmtree(folder, ignore_errors=True)
    venv = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install", "--quiet", "--no-deps"]
    for command in (venv, [*pip, "--retries", "1", "--requirement", str(requirements)]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_MOST_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"{requirements.name} could not be installed in {_MOST_SECONDS} seconds"
        if done.returncode:
            return f"{requirements.name} could not be installed: {done.stderr.strip().splitlines()[-1:]}"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    # What these packages add to the path counts, too.
    line = f"import site; site.addsitedir({packages!r})\n"
    (folder / "lib" / version / "site-packages/of-these-tests.pth").write_text(line)
    return None


def call(python: Path, *arguments: object) -> str:
    """Returns the standard output of Python with these arguments, such as `-m`, a module and its own."""
    command = [str(python), *map(str, arguments)]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
