import os
import subprocess
import sys
from pathlib import Path

import pytest

from mt.common.terminal import Bar, say
from mt.errors import visible, visible_lines

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Straße, naïve – „schön“", "Straße, naïve – „schön“"),
        (
            "हिन्दी \u200c\u200d می\u200cخواهم 中文　字\u00a0€ 👩\u200d🚀",
            "हिन्दी \u200c\u200d می\u200cخواهم 中文　字\u00a0€ 👩\u200d🚀",
        ),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("a\r\n\tb\x7f\b", r"a\r\n\tb\x7f\x08"),
        ("\x9b31m\x85", r"\x9b31m\x85"),
        ("\u202egnp.exe\u2066x\u2069\u2028", r"\u202egnp.exe\u2066x\u2069\u2028"),
        ("caf\udce9", r"caf\udce9"),
    ],
)
def test_nothing_in_a_text_gives_a_terminal_orders(text: str, expected: str):
    assert visible(text) == expected


def test_the_lines_of_what_is_said_stay_lines(capsys: pytest.CaptureFixture[str]):
    assert visible_lines("one\x1b\ntwo\r") == "one\\x1b\ntwo\\r"
    say("one\x1b\ntwo")
    assert capsys.readouterr().out == "one\\x1b\ntwo\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1:strict"])
def test_output_is_utf_8_whatever_the_locale(encoding: str):
    lines = "print('\\xfcber', flush=True)", "raise UserError('h\\xe4\\xdflich \\udce9')"
    code = "\n    ".join(["from mt.errors import UserError, reported\nwith reported():", *lines])
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, timeout=60)
    assert (done.stdout, done.stderr) == ("über\n".encode(), "error: häßlich \\udce9\n".encode())


# Progress in a pipe: lines, and not too many.
def test_a_pipe_gets_lines_without_carriage_returns(capsys: pytest.CaptureFixture[str]):
    with Bar("clean train", 3000, "pairs", seconds=0) as bar:
        for _ in range(2):
            bar.update(1500)
    assert capsys.readouterr() == ("", "clean train: 1,500 of 3,000 pairs\nclean train: 3,000 of 3,000 pairs\n")


@pytest.mark.parametrize(("shown", "seconds"), [(True, 3600), (True, None), (False, 0)])
def test_what_is_short_or_not_shown_says_nothing(shown, seconds, capsys):
    with Bar("clean train", None, "pairs", shown=shown, seconds=seconds) as bar:
        bar.update()
    assert capsys.readouterr() == ("", "")
