import time

import pytest

from data_prep import patience
from data_prep.patience import patiently


def test_a_line_is_told_where_something_takes_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "_FIRST", 0.05)
    with patiently("reading DIR"):
        pass
    with patiently("reading DIR", shown=False):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""
    with patiently("reading DIR"):
        time.sleep(0.3)
    assert capsys.readouterr().err == "reading DIR ...\n"
