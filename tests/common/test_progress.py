"""Progress in a pipe: lines, and not too many."""

import pytest

from mt.common.terminal import Bar


def test_a_pipe_gets_lines_without_carriage_returns(capsys: pytest.CaptureFixture[str]):
    with Bar("clean train", 3000, "pairs", seconds=0) as bar:
        for _ in range(2):
            bar.update(1500)
    assert capsys.readouterr() == ("", "clean train: 1,500 of 3,000 pairs\nclean train: 3,000 of 3,000 pairs\n")


@pytest.mark.parametrize(("shown", "seconds"), [(True, 3600), (True, None), (False, 0)])
def test_what_is_short_or_not_shown_says_nothing(
    shown: bool, seconds: float | None, capsys: pytest.CaptureFixture[str]
):
    with Bar("clean train", None, "pairs", shown=shown, seconds=seconds) as bar:
        bar.update()
    assert capsys.readouterr() == ("", "")
