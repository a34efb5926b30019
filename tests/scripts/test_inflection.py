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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # SIGMORPHON 2016 and 2023 have the tags in the middle, whatever a form of capitals looks like.
        (
            "PC\tpos=N,num={SG/PL}\tPC\nsehen\tpos=V,tense=PST\tsah\n",
            "+pos=N +num={SG/PL} P C\tP C\n+pos=V +tense=PST s e h e n\ts a h\n",
        ),
        (
            "PC\tN;ACC(SG)\tPC\nsehen\tV;PST;NOM(1,PL)\tsahen\n",
            "+N +ACC +SG P C\tP C\n+V +PST +NOM +1 +PL s e h e n\ts a h e n\n",
        ),
        (
            "PC\tPC\tN;SG\nsehend\tsehende\tV.PTCP;PRS\nja\tja\tADV\n",
            "+N +SG P C\tP C\n+V.PTCP +PRS s e h e n d\ts e h e n d e\n+ADV j a\tj a\n",
        ),
        ("PC\tPCS\tN\n", "+N P C\tP C S\n"),
    ],
)
def test_tags_may_stand_before_the_form(text: str, expected: str):
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
