"""Inflection as pairs: tags are symbols of their own, and letters stand between blanks."""

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "inflection.py"


def converted(text: str) -> subprocess.CompletedProcess[bytes]:
    given = text.encode(errors="surrogateescape")
    return subprocess.run([sys.executable, str(SCRIPT)], input=given, capture_output=True, check=False)


def test_a_line_has_tags_and_letters_between_blanks():
    text = "festquatschen\tquatschtet fest\tV;IND;2\r\n\n" + unicodedata.normalize("NFD", "Öl\tÖle\tN;PL") + "\n"
    expected = "+V +IND +2 f e s t q u a t s c h e n\tq u a t s c h t e t ␣ f e s t\n+N +PL Ö l\tÖ l e\n"
    assert converted(text).stdout.decode() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # SIGMORPHON 2016 and 2023 have the tags in the middle, whatever a form of capitals looks like.
        ("PC\tpos=N,n={S/P}\tPC\nja\tpos=V,t=PST\tjo\n", "+pos=N +n={S/P} P C\tP C\n+pos=V +t=PST j a\tj o\n"),
        ("PC\tN;ACC(SG)\tPC\nja\tV;NOM(1,PL)\tjo\n", "+N +ACC +SG P C\tP C\n+V +NOM +1 +PL j a\tj o\n"),
        ("PC\tPC\tN;SG\nso\tson\tV.PTCP;PRS\n", "+N +SG P C\tP C\n+V.PTCP +PRS s o\ts o n\n"),
        ("PC\tPCS\tN\n", "+N P C\tP C S\n"),
    ],
)
def test_tags_may_stand_before_the_form(text: str, expected: str):
    assert converted(text).stdout.decode() == expected


def test_blanks_around_columns_and_tags_are_no_letters():
    """Files of UniMorph have some, which no one sees."""
    text = "go \twent\tV;PST \nlook\u00a0up\t looked up\tV; PST\n"
    assert converted(text).stdout.decode() == "+V +PST g o\tw e n t\n+V +PST l o o k ␣ u p\tl o o k e d ␣ u p\n"


@pytest.mark.parametrize("line", ["sehen\tsah", "sehen\tV;PST\t", "a\tb\tV\tW"])
def test_a_line_without_three_columns_is_refused(line: str):
    done = converted(f"gehen\tging\tV;PST\n{line}\n")
    assert done.returncode == 1
    assert done.stderr.decode().startswith("error: line 2 has no lemma, form and tags with tabs between")


def test_tags_in_the_first_column_are_refused():
    done = converted("V;PST\tgehen\tging\nN;PL\tUSA\tUSA\n")
    sentence = "error: the tags are in the first column: bring the columns into the order lemma, form and tags\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", sentence)


def test_a_text_that_is_not_utf_8_is_refused():
    done = converted("gehen\tging\tV\n\udcff\n")
    assert done.returncode == 1 and done.stderr.startswith(b"error: standard input, line 2 is not UTF-8")
