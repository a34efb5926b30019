import os
import subprocess
import sys
from pathlib import Path

import pytest

from mt.errors import READER_GONE, UserError, nearest, output_fault, reported, shown

ROOT = Path(__file__).parents[1]
PROGRAM = "from mt.errors import UserError, reported\nwith reported():\n    {}"


def shell(line: str, body: str) -> subprocess.CompletedProcess[str]:
    """Runs `body` within `reported`, as the command $PROGRAM of a shell's line."""
    code = {"PYTHON": sys.executable, "CODE": PROGRAM.format(body)}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "", **code}
    line = line.replace("PROGRAM", '"$PYTHON" -c "$CODE"')
    command = ["bash", "-o", "pipefail", "-c", line]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_nearest():
    assert nearest("mocah", ["dot", "mocha"]) == "did you mean mocha? choices: dot, mocha"
    assert nearest("xyz", ["mocha", "dot"]) == "choices: dot, mocha"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain – text", "plain – text"),
        ("two\nlines", r"two\nlines"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\udc80", r"\udc80"),
        ("x" * 81, "x" * 77 + "..."),
    ],
)
def test_text_of_a_user_stays_on_one_line(text: str, expected: str):
    assert shown(text) == expected


def test_a_sentence_is_one_line_whatever_a_user_put_into_it(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end, reported():
        raise UserError("x=a\nb\x1b[2J is wrong")
    assert end.value.code == 2
    assert capsys.readouterr() == ("", "error: x=a\\nb\\x1b[2J is wrong\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("count", [1, 100_000])
def test_a_reader_that_leaves_ends_it_quietly(unbuffered: str, count: int):
    # The pipe is closed before anything is written to it.
    body = f"import time; time.sleep(0.3); print('text\\n' * {count})"
    done = shell(f"PYTHONUNBUFFERED={unbuffered} PROGRAM | true", body)
    assert (done.returncode, done.stdout, done.stderr) == (141, "", "")


FULL = "error: standard output cannot be written (No space left on device): send it elsewhere\n"
CLOSED = "error: standard output is closed: leave it open, or send it to a file with > FILE\n"


@pytest.mark.parametrize(
    ("line", "body", "out", "err"),
    [
        ("PROGRAM | cat", "raise BrokenPipeError(32, 'Broken pipe')", "", "error: Broken pipe\n"),
        ("PROGRAM > /dev/full", "print('text')", "", FULL),
        ("PROGRAM > /dev/full", "print('text' * 100_000)", "", FULL),
        ("PROGRAM > /dev/full", "print('text'); raise UserError('x')", "", FULL),
        # Before a file takes its place.
        ("PROGRAM >&-", "open('/dev/null'); print('text')", "", CLOSED),
        ("PROGRAM 2>&-", "print('text'); raise UserError('x')", "text\n", ""),
    ],
)
def test_a_stream_that_cannot_be_written_is_named(line: str, body: str, out: str, err: str):
    if "/dev/full" in line and not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    done = shell(line, body)
    assert (done.returncode, done.stdout, done.stderr) == (2, out, err)


def test_output_that_can_be_written_has_no_fault():
    assert output_fault() is None
    done = shell("PROGRAM | true", "import sys, time, mt.errors as e; time.sleep(0.3); sys.exit(e.output_fault())")
    assert done.stderr == f"{READER_GONE}\n"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 16000 bytes."),
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("Storage size calculation overflowed with sizes=[1099511627776, 1099511627776]"),
    ],
)
def test_memory_that_there_is_not(error: Exception, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end, reported():
        raise error
    printed = capfd.readouterr().err
    assert (end.value.code, printed.count("\n")) == (2, 1)
    assert printed.startswith("error: there is not enough memory")


@pytest.mark.parametrize("fault", [ZeroDivisionError("division by zero"), RuntimeError("shape mismatch")])
def test_a_fault_of_the_program_keeps_its_trace(fault: Exception):
    with pytest.raises(type(fault), match=str(fault)), reported():
        raise fault
