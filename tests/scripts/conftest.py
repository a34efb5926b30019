"""Commands are called in this process, with standard input and output of their own."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mt.__main__ import call as call_verb


class Outcome(NamedTuple):
    out: str
    err: str
    status: int


@pytest.fixture
def call(capfd, monkeypatch, tmp_path_factory):
    """Runs `mt <name>` with arguments and standard input."""
    given = tmp_path_factory.mktemp("standard-input") / "file"

    def called(name: str, *arguments: object, stdin: str | bytes = "") -> Outcome:
        given.write_bytes(stdin if isinstance(stdin, bytes) else stdin.encode())
        status = 0
        with given.open() as file, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", file)
            try:
                call_verb(name, [str(argument) for argument in arguments])
            except SystemExit as end:
                status = int(end.code or 0)
        captured = capfd.readouterr()
        return Outcome(captured.out, captured.err, status)

    return called


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Writes a file of this name."""

    def written(name: str, content: str | bytes) -> Path:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    return written
