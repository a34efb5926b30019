"""The command line, called in this process."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mt.cli.command import compose

Jobs = list[tuple[dict[str, Any], list[str]]]
Call = Callable[..., Jobs]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    """Calls the command line in a folder of its own; gives the plain configuration and the overrides of each job.

    body: what a job does, of its configuration.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "")

    def called(*arguments: str, name: str = "config", body: Callable[[dict[str, Any]], None] | None = None) -> Jobs:
        jobs: Jobs = []

        def main(plain: dict[str, Any], overrides: list[str], presets: Sequence[str]) -> None:
            jobs.append((plain, overrides))
            if body:
                body(plain)

        monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
        compose(main, name, arguments)
        return jobs

    return called
