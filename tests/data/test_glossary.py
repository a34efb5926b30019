"""Glossaries: their files, and which words of a text are terms, against a search of every span."""

import random
import re
import tracemalloc
from pathlib import Path

import pytest

from mt.data.glossary import Glossary, glossaries_of, read_glossary
from mt.data.words import term_words, words
from tests.refusals.sentences import require_refusal


def found(glossary: Glossary, text: str) -> list[tuple[str, tuple[str, ...]]]:
    split = words(text)
    terms, _ = glossary.terms(split)
    return [(" ".join(split[term.begin : term.end]), term.entry.targets) for term in terms]


def test_the_longest_term_is_found_whatever_the_case_but_of_entries_with_capitals(tmp_path: Path):
    path = tmp_path / "terms.tsv"
    path.write_text("area\tBereich\narea of responsibility\tZuständigkeit|Bereich\n\nUS\tUSA\narea\tGebiet\n")
    glossary = read_glossary(path)
    assert isinstance(glossary, Glossary)
    assert found(glossary, "Area of responsibility, area of us; the US's areas. AREA") == [
        ("Area of responsibility", ("Zuständigkeit", "Bereich")),
        ("area", ("Bereich", "Gebiet")),
        ("AREA", ("Bereich", "Gebiet")),
    ]
    assert found(glossary, "the US") == [("US", ("USA",))]


@pytest.mark.parametrize("seed", range(20))
def test_equals_a_search_of_every_span_and_is_certain_as_soon_as_no_longer_term_may_come(seed: int):
    draw = random.Random(seed)
    sources = {" ".join(draw.choices("abA", k=draw.randint(1, 4))) for _ in range(6)}
    glossary = Glossary((source, [source.upper()], "entry") for source in sources)
    text = draw.choices("abABc", k=12)
    terms, end = glossary.terms(text)
    expected, place = [], 0
    while place < len(text):
        # As it is written before small letters.
        parts = [(stop, " ".join(text[place:stop])) for stop in range(place + 1, len(text) + 1)]
        spans = [(place, stop, one) for stop, part in parts for one in (part.lower(), part) if one in sources]
        expected += spans[-1:]
        place = spans[-1][1] if spans else place + 1
    assert [(term.begin, term.end, term.entry.source) for term in terms] == expected and end == len(text)
    for count in range(len(text)):
        some, certain = glossary.terms(text[:count], complete=False)
        assert some == [term for term in terms if term.begin < certain]
        rest = [word.lower() for word in text[certain:count]]
        assert certain == count or any([*words(source.lower())][: len(rest)] == rest for source in sources)


def test_a_line_of_json_is_the_glossary_of_its_text(tmp_path: Path):
    path = tmp_path / "terms.jsonl"
    path.write_text('{"space": "Raum"}\n\n{"space": ["Space", "Spaces"]}\n')
    of_texts = glossaries_of(path, 3)
    assert [found(one, "a space") for one in of_texts] == [[("space", ("Raum",))], [], [("space", ("Space", "Spaces"))]]
    assert [found(one, "a space") for one in glossaries_of([{"space": "x"}, None], 2)] == [[("space", ("x",))], []]


def test_other_quotation_marks_are_text(tmp_path: Path):
    (tmp_path / "a.tsv").write_text('"a"\t„b“\n"c" and "d"\te, ""\n3" disk\t3"-Diskette\n')
    glossary = read_glossary(tmp_path / "a.tsv")
    assert isinstance(glossary, Glossary)
    entries = [(entry.source, *entry.targets) for entry in glossary.entries]
    assert entries == [('"a"', "„b“"), ('"c" and "d"', 'e, ""'), ('3" disk', '3"-Diskette')]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.tsv", "a\tb\nspace Raum\n", "a.tsv, line 2 has 0 TAB characters, and an entry has one: write source, TAB"),
        ("a.tsv", "a\tb\tc\n", "a.tsv, line 1 has 2 TAB characters"),
        ("a.tsv", 'a\tb\nx\t"a ""b"""\n', "a.tsv, line 2 has a field in quotation marks, as spreadsheets write it"),
        ("a.tsv", '"a, b"\tc\n', "a.tsv, line 1 has a field in quotation marks, as spreadsheets write it"),
        ("a.tsv", '"a"\t"b"\n"c"\t"d"\n', "a.tsv, line 1 has a field in quotation marks, as spreadsheets write it"),
        ("a.tsv", "a\tb\n\tc\n", "a.tsv, line 2 has a blank source or target: write both, or"),
        ("a.tsv", "a\tb|\n", "a.tsv, line 1 has a blank source or target: write both, or"),
        ("a.jsonl", '{"a": "b"}\n{"a"}\n', "a.jsonl, line 2 is no JSON"),
        ("a.jsonl", '{"a": "b", "a": "c"}\n', "a.jsonl, line 1 is no JSON (its key a comes twice)"),
        ("a.jsonl", '["a"]\n', "a.jsonl, line 1 is no glossary: write {"),
        ("a.jsonl", '{"a": {"b": "c"}}\n', "a.jsonl, line 1 is no glossary: write {"),
        ("a.jsonl", '{"a": []}\n', "a.jsonl, line 1 has a blank source or target: write both, or"),
    ],
)
def test_a_line_of_another_form_is_named(name: str, text: str, sentence: str, tmp_path: Path):
    (tmp_path / name).write_text(text)
    require_refusal(lambda: read_glossary(tmp_path / name), re.escape(sentence))


@pytest.mark.parametrize(
    ("source", "text", "places"),
    [
        ("東京", "私は東京に住む。", [(2, 4)]),
        ("กรุงเทพ", "ฉันอยู่กรุงเทพ", [(4, 10)]),
        ("don't", "I don’t know, do I? DON'T", [(1, 4), (9, 12)]),
        ("don’t", "I don't", [(1, 4)]),
        ("bridge", "the bridge's arch and the bridge’s end", [(1, 2), (7, 8)]),
        ("bridge's", "the bridge’s arch", [(1, 4)]),
        ("Gold", "Gold.012 Gold-Kette Gold.", [(2, 3)]),
        ("air", "the air traffic control of the air", [(6, 7)]),
    ],
)
def test_words_are_those_of_terms_in_every_script(source: str, text: str, places: list[tuple[int, int]]):
    glossary = Glossary([(source, ["x"], "one"), ("air traffic control", ["y"], "two")])
    terms, _ = glossary.terms(term_words(text))
    assert [(term.begin, term.end) for term in terms if term.entry.targets == ("x",)] == places


def test_a_long_source_takes_memory_in_proportion():
    """What each of its beginnings were kept for would be 25 million words."""
    tracemalloc.start()
    glossary = Glossary([("word " * 10_000, ["x"], "entry")])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 << 20  # threads of other tests may take some, too
    terms, _ = glossary.terms(["word"] * 10_001)
    assert [(term.begin, term.end) for term in terms] == [(0, 10_000)]
