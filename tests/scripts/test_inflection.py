"""Inflection as pairs: tags are symbols of their own, and letters stand between blanks."""

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "inflection.py"


def converted(text: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, str(SCRIPT)], input=text.encode(), capture_output=True, check=False)


def test_a_line_has_tags_and_letters_between_blanks():
    text = "festquatschen\tquatschtet fest\tV;IND;2\r\n\n" + unicodedata.normalize("NFD", "Öl\tÖle\tN;PL") + "\n"
    expected = "+V +IND +2 f e s t q u a t s c h e n\tq u a t s c h t e t ␣ f e s t\n+N +PL Ö l\tÖ l e\n"
    assert converted(text).stdout.decode() == expected


@pytest.mark.parametrize("line", ["sehen\tsah", "sehen\tV;PST\t", "a\tb\tV\tW"])
def test_a_line_without_three_columns_is_refused(line: str):
    done = converted(f"gehen\tging\tV;PST\n{line}\n")
    assert done.returncode == 1
    assert done.stderr.decode().startswith("error: line 2 has no lemma, form and tags with tabs between")


def test_a_text_that_is_not_utf_8_is_refused():
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], input=b"gehen\tging\tV\n\xff\n", capture_output=True, check=False
    )
    assert done.returncode == 1 and done.stderr.startswith(b"error: standard input, line 2 is not UTF-8")
