"""In a stream each tag is written when its word is, once, and in order."""

import re
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from mt.decoding.streaming import MarkedSession, Session
from tests.decoding.streaming.test_session import POLICIES

SOURCES = [
    '<p>ae <b>in st</b> <a href="u v">dr</a> hu<br> ie</p>',
    "<i>one <b>two</b></i> three <code>x y</code> four",
    "<b>open <i>crossed</b> words</i> stray</u>",
    "<b>one</b><p>two <em>three</em></p>",
    "<p>ae <b>{x} in { $y }</b> dr%s <i>{ $z }</i> {open</p>",
]


class Scripted:
    """A session that writes given words, each once a number of source words was read."""

    def __init__(self, script: list[tuple[int, str, int]]) -> None:
        self.script = script
        self.words: list[str] = []
        self.word_sources: list[int] = []
        self.count = 0

    def read(self, words: list[str]) -> None:
        self.count += len(words)
        self._write()

    def finish(self) -> None:
        self.count = 1000
        self._write()

    def _write(self) -> None:
        while self.script and self.script[0][0] <= self.count:
            _, word, source = self.script.pop(0)
            self.words.append(word)
            self.word_sources.append(source)


def scripted(*script: tuple[int, str, int]) -> MarkedSession:
    return MarkedSession(SimpleNamespace(stream=lambda search, unit: Scripted([*script])))  # type: ignore[arg-type]


def test_a_tag_is_written_with_its_word() -> None:
    session = scripted((1, "Ein", 0), (2, "rotes", 1), (3, "Auto", 2), (9, "fährt", 3))
    assert session.read("A <b>r") == "Ein"
    assert session.read("ed</b> ") == " <b>rotes"
    assert session.read('<a href="x y">car</a> ') == '</b> <a href="x y">Auto'
    assert session.read("goes<br>") == ""
    assert session.finish() == "</a> fährt<br>"


def test_what_no_word_is_linked_to_is_written_when_it_is_passed() -> None:
    session = scripted((1, "eins", 0), (4, "vier", 3), (4, "fünf", -1))
    assert session.read("one <b>two</b> <img> <a>three</a> four ") == "eins <b></b><img><a></a>vier fünf"
    assert session.finish() == ""


def test_placeholders_are_kept_whole() -> None:
    """What stands for a word is no word to the model, and stays within the pair that it is in."""
    session = scripted((1, "Hallo", 0), (3, "sieh", 2), (4, "hier", 3))
    pieces = [session.read(piece) for piece in ("Hello {na", "me}, se", "e <b>{ $u", "rl } her", "e</b> %(n)s ")]
    text = "".join([*pieces, session.finish()])
    assert text == "Hallo {name} sieh <b>{ $url } hier</b> %(n)s"
    # Only placeholders in a pair; a brace that nothing closes; a spelling of its own.
    assert whole(scripted((1, "Eins", 0)), "One <b>{x}</b> <code>y z</code>") == "Eins <b>{x}</b> <code>y z</code>"
    assert whole(scripted((9, "a", 0), (9, "b.", 3)), "A { b. c") == "a b."
    assert whole(scripted((1, "Ein", 0)), "One {a &amp; b}.") == "Ein {a &amp; b}"
    assert whole(scripted((1, "eins", 0), (2, ".", 1)), "one {x}.") == "eins {x}."
    assert whole(scripted((1, "a", 0)), f"a {{{'x' * 500} y") == "a"


def whole(session: MarkedSession, text: str) -> str:
    return session.read(text) + session.finish()


def test_a_pair_opens_again_only_where_it_may_be_split() -> None:
    words = ((1, "a", 0), (3, "c", 2), (3, "b", 1), (3, "d", 0))
    assert scripted(*words).read("<b>A B</b> C ") == "<b>a</b> c <b>b d"
    assert scripted(*words).read("<a>A B</a> C ") == "<a>a</a> c b d"


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("policy", ["mocha", "wait-3"])
def test_every_tag_is_written_once(policy: str, source: str, setting: Any) -> None:
    attention, search = POLICIES[policy]
    ours = setting(attention, "lstm", "luong", search=search)
    session = MarkedSession(SimpleNamespace(stream=lambda search, unit: Session(ours)))  # type: ignore[arg-type]
    pieces = [session.read(source[begin : begin + 3]) for begin in range(0, len(source), 3)]
    text = "".join([*pieces, session.finish()])
    whole = MarkedSession(SimpleNamespace(stream=lambda search, unit: Session(ours)))  # type: ignore[arg-type]
    assert whole.read(source) + whole.finish() == text
    tags = [Counter(re.findall(r"<[^>]*>", side)) for side in (source, text)]
    assert all(tags[1][tag] == count for tag, count in tags[0].items() if not re.match(r"</?(b|i|em)>", tag))
    assert all(tags[1][tag] >= count for tag, count in tags[0].items())
    assert all(text.count(found) == 1 for found in re.findall(r"{ ?\$?\w }|{x}|%s", source))
