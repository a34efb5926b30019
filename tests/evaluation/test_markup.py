from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from mt.data.placeholders import placeholders_of
from mt.decoding.translator import Translator
from mt.evaluation.markup import is_complete, markup_scores, places, proportional
from mt.markup.blocks import Kept

SOURCES = ["the <b>big</b> cats see {name} streets", "<p>two dogs</p> find <br> bridges", "no <i>tags</i>"]
TARGETS = ["die <b>großen</b> Katzen sehen {name} Straßen", "<p>zwei Hunde</p> finden <br> Brücken", "keine Tags"]


def test_places_are_counted_in_characters_of_the_text() -> None:
    found = places("A <b>b {x}c</b><br> &amp; <b>d</b></i>")
    bold = {("<b>", 0, "start"): 1, ("<b>", 0, "end"): 3, ("<b>", 1, "start"): 4, ("<b>", 1, "end"): 5}
    assert found == bold | {("{x}", 0, "placeholder"): 2, ("<br>", 0, "empty"): 3, ("</i>", 0, "crossed"): 5}


def test_links_that_are_right_place_every_tag(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs whose sides have other tags do not count; translations count for all sources."""

    def align(texts: Sequence[str], references: Sequence[str], *, shift: bool) -> list[Any]:
        return [SimpleNamespace(pair=pair) for pair in zip(texts, references, strict=True)]

    monkeypatch.setattr(translator, "align", align)
    monkeypatch.setattr("mt.evaluation.markup.linked", lambda _, one, text: word_for_word(*one.pair))
    scores = markup_scores(translator, SOURCES, TARGETS)
    assert [scores[name].score for name in ("tags", "placeholders", "complete")] == [100, 100, 100]
    assert scores["tags"].signature == "format:html|pairs:2/3|shift:no|tags:5"
    wrong = proportional(SOURCES[0], TARGETS[0])._replace(links=[(0, place) for place in range(20)])
    monkeypatch.setattr("mt.evaluation.markup.linked", lambda _, one, text: wrong._replace(text=one.pair[1]))
    scores = markup_scores(translator, SOURCES, TARGETS)
    assert scores["tags"].score < 100 == scores["complete"].score


def word_for_word(source: str, target: str) -> Any:
    links = []
    places_of = [0, 0]
    for pair in zip(source.split(), target.split(), strict=True):
        sides = zip((source, target), pair, places_of, strict=True)
        places_of = [side.index(word, place) for side, word, place in sides]
        links += [(places_of[0], places_of[1] + k) for k in range(len(pair[1]))]
    return proportional(source, target)._replace(links=links)


def test_a_run_is_scored(translator: Translator) -> None:
    scores = markup_scores(translator, SOURCES[:2], TARGETS[:2], shift=True)
    assert scores["complete"].score == 100
    assert 0 <= scores["tags"].score <= 100


def test_what_may_be_split_is_complete_and_nothing_else_may_be_missing_or_double() -> None:
    assert is_complete("<b>x {n}</b><br>", "<b>y</b> {n} <b>z</b><br>")
    assert is_complete("<b>{n}</b> x", "y <b>{n}</b>")
    for bold, rest in (("", "y {n}<br>"), (".", "y {n}<br>"), ("y", "{n}"), ("y", "<br>"), ("y", "{n}<br><br>")):
        assert not is_complete("<b>x {n}</b><br>", f"<b>{bold}</b> {rest}")
    assert not is_complete("<b>x {n}</b><br>", "<i><b>y</i></b> {n}<br>")


def test_placeholders_are_those_of_the_syntaxes_of_the_run(translator, monkeypatch):
    counts = []
    for names in (["braces"], ["qt"]):
        kept = Kept(placeholders_of(tuple(names)))
        monkeypatch.setattr("mt.evaluation.markup.kept_placeholders", lambda _, kept=kept: kept)
        signature = markup_scores(translator, ["see %1 {n}"], ["seht %1 {m}"])["placeholders"].signature
        counts.append(signature.split("|")[1] + signature.rpartition(":")[2])
    assert counts == ["pairs:0/10", "pairs:1/11"]
