"""The steps of the Dockerfile where there is no Docker: the wheel, a user without rights, and no file written."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from tests.test_packaging import site, wheel  # noqa: F401 - fixtures

ROOT = Path(__file__).parents[1]
LINES = re.sub(r"\\\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8")).splitlines()
STEPS = [tuple(line.split(maxsplit=1)) for line in LINES if line and not line.startswith("#")]


def steps(name: str) -> list[str]:
    return [arguments for step, arguments in STEPS if step == name]


def test_what_is_copied_is_what_the_wheel_is_made_of():
    copied = [name for line in steps("COPY") if "--from" not in line for name in line.split()[:-1]]
    assert all((ROOT / name).exists() for name in copied)
    needed = {"mt", "data_prep", "conf", "pyproject.toml", "setup.py", "README.md", "LICENSE"}
    assert set(copied) == needed, "as tests/test_packaging.py builds it"


def test_it_runs_as_a_user_without_rights():
    (user,) = steps("USER")
    assert int(user) > 1000
    order = [name for name, _ in STEPS]
    assert order.index("USER") > max(i for i, name in enumerate(order) if name == "RUN"), "nothing is run after it"
    assert f"--uid {user}" in steps("RUN")[-1]


def written(folder: Path) -> dict[Path, int]:
    """When each file was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.slow
def test_it_serves_and_writes_no_file(site: Path, trained: Path, tmp_path: Path):  # noqa: F811
    """It writes where the Dockerfile says that it may, and nowhere else."""
    (environment,) = steps("ENV")
    given = dict(pair.split("=", 1) for pair in shlex.split(environment))
    assert all(path.startswith("/tmp") for path in given.values() if "/" in path)
    writable, elsewhere = tmp_path / "tmp", tmp_path / "elsewhere"
    writable.mkdir()
    elsewhere.mkdir()
    given = {name: value.replace("/tmp", str(writable)) for name, value in given.items()}
    (entry,) = steps("ENTRYPOINT")
    program, *words = json.loads(entry)
    command = [sys.executable, str(site / "bin" / program), *words, str(trained), "--port", "0"]
    before = [written(folder) for folder in (site, trained, elsewhere)]
    environ = {**os.environ, "PYTHONPATH": str(site), "TMPDIR": str(writable), **given}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environ, cwd=elsewhere, **pipes) as server:
        address = server.stdout.readline().split()[-1].replace("0.0.0.0", "127.0.0.1")
        body = b'{"q": "two cats", "source": "en", "target": "de"}'
        request = urllib.request.Request(f"{address}/translate", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert b"translatedText" in answer.read()
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
        assert "Traceback" not in server.stderr.read()
    assert [written(folder) for folder in (site, trained, elsewhere)] == before
