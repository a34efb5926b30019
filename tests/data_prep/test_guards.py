import time

import pytest

from data_prep.guards import guarded, patiently
from mt.errors import UserError


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("can't start new thread"), RuntimeError("std::bad_alloc")]
)
def test_want_of_memory_is_one_sentence(error: Exception) -> None:
    with (
        pytest.raises(UserError, match=r"^memory does not suffice to prepare the corpus.*: set dataset\.workers=1 and"),
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
