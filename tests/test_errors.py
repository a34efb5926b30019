import pytest

from mt.errors import UserError, nearest, reported


def test_nearest():
    assert nearest("mocah", ["dot", "mocha"]) == "did you mean mocha? There is: dot, mocha"
    assert nearest("xyz", ["mocha", "dot"]) == "There is: dot, mocha"


def test_a_user_error_becomes_its_sentence_and_status_2(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end, reported():
        raise UserError("x is wrong: do y")
    assert end.value.code == 2
    assert capsys.readouterr() == ("", "error: x is wrong: do y\n")


def test_what_the_system_refuses_becomes_a_sentence_too(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end, reported():
        raise PermissionError(13, "Permission denied", "outputs")
    assert end.value.code == 2
    assert capsys.readouterr().err == "error: [Errno 13] Permission denied: 'outputs'\n"


def test_an_interrupt_becomes_status_130(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end, reported():
        raise KeyboardInterrupt
    assert end.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_fault_of_the_program_keeps_its_trace():
    with pytest.raises(ZeroDivisionError), reported():
        1 / 0  # noqa: B018 - what raises


def test_success_is_silent(capsys: pytest.CaptureFixture[str]):
    with reported():
        pass
    assert capsys.readouterr() == ("", "")
