import time
from pathlib import Path

import pytest

from data_prep import guards
from data_prep.guards import patiently, system_errors
from mt.errors import UserError


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("can't start new thread"), RuntimeError("std::bad_alloc")]
)
def test_want_of_memory_is_one_sentence(error: Exception) -> None:
    with (
        pytest.raises(UserError, match=r"^memory does not suffice to prepare the corpus.*: set dataset\.workers=1 and"),
        system_errors(Path("corpora")),
    ):
        raise error
    with pytest.raises(RuntimeError, match="other"), system_errors(Path("corpora")):
        raise RuntimeError("other")


def test_a_line_is_told_where_something_takes_long(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guards, "_PATIENCE", 0.05)
    with patiently("reading DIR"):
        pass
    with patiently("reading DIR", shown=False):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""
    with patiently("reading DIR"):
        time.sleep(0.3)
    assert capsys.readouterr().err == "reading DIR ...\n"
