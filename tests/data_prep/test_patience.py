import time

import pytest

from data_prep.patience import patiently


def test_a_line_is_told_where_something_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    with patiently("reading DIR", first=0.05):
        pass
    with patiently("reading DIR", shown=False, first=0.05):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""
    with patiently("reading DIR", first=0.05):
        time.sleep(0.3)
    assert capsys.readouterr().err == "reading DIR ...\n"
