"""Commands are called in this process, with standard input and output of their own."""

import io
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from mt.__main__ import call as call_verb


class Outcome(NamedTuple):
    out: str
    err: str
    status: int


@pytest.fixture
def call(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Runs `mt <name>` with arguments and standard input."""

    def called(name: str, *arguments: object, stdin: str | bytes = "") -> Outcome:
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        status = 0
        try:
            call_verb(name, [str(argument) for argument in arguments])
        except SystemExit as end:
            status = int(end.code or 0)
        captured = capsys.readouterr()
        return Outcome(captured.out, captured.err, status)

    return called
