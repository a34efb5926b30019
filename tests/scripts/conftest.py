"""Scripts are called in this process, through their `main`, with standard input and output of their own."""

import io
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest


class Outcome(NamedTuple):
    out: str
    err: str
    status: int


@pytest.fixture
def call(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Runs `scripts/<name>.py` with arguments and standard input."""

    def called(name: str, *arguments: object, stdin: str | bytes = "") -> Outcome:
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        main = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / f"{name}.py"))["main"]
        status = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = int(end.code or 0)
        captured = capsys.readouterr()
        return Outcome(captured.out, captured.err, status)

    return called
