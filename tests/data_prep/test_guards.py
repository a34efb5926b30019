import subprocess
import sys
import time

import pytest

from data_prep.guards import guarded, patiently
from mt.errors import UserError

_PROGRAM = """
import os
from data_prep.guards import guarded
with guarded():
    {}
"""


def _ended(statement: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", _PROGRAM.format(statement)], capture_output=True, text=True)


@pytest.mark.parametrize("statement", ["os.abort()", "os.kill(os.getpid(), 9)", "os._exit(127)"])
def test_a_process_that_is_ended_by_a_library_says_why(statement: str) -> None:
    ended = _ended(statement)
    assert ended.returncode != 0
    [line] = ended.stderr.splitlines()
    assert line.startswith("error: the preparation was ended from outside of it, or memory does not suffice to prepare")
    assert "set dataset.workers=1" in line and "goes on from what is finished" in line


def test_nothing_is_said_at_a_usual_end() -> None:
    for statement in ("pass", "os.sys.exit(3)"):
        assert _ended(statement).stderr == ""


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("can't start new thread"), RuntimeError("std::bad_alloc")]
)
def test_want_of_memory_is_one_sentence(error: Exception) -> None:
    with (
        pytest.raises(
            UserError, match=r"^memory does not suffice to prepare the corpus.*: set dataset\.workers=1, and"
        ),
        guarded(),
    ):
        raise error
    with pytest.raises(RuntimeError, match="other"), guarded():
        raise RuntimeError("other")


def test_a_line_is_told_where_something_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    with patiently("reading DIR", first=0.05):
        pass
    with patiently("reading DIR", shown=False, first=0.05):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""
    with patiently("reading DIR", first=0.05):
        time.sleep(0.3)
    assert capsys.readouterr().err == "reading DIR ...\n"
