"""The command line, called in this process."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mt.cli.composition import STATUS, run_composed
from mt.cli.run_folders import register
from mt.errors import reported

Jobs = list[tuple[dict[str, Any], list[str]]]
Call = Callable[..., Jobs]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder of its own, in which train.py is called."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "")
    monkeypatch.setattr(sys, "argv", ["train.py"])


@pytest.fixture
def call(shell: None) -> Call:
    """Calls the command line; gives the plain configuration and the overrides of each job.

    body: what a job does, of its configuration.
    """
    register()

    def called(*arguments: str, name: str = "config", body: Callable[[dict[str, Any]], Any] | None = None) -> Jobs:
        jobs: Jobs = []

        def job(plain: dict[str, Any], overrides: list[str]) -> float | None:
            jobs.append((plain, overrides))
            return body(plain) if body else None

        with reported(STATUS):
            run_composed(name, job, arguments)
        return jobs

    return called
