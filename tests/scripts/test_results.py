"""The tables of the pages have the figures of results/, each with what made it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from data_prep.get import known
from mt.errors import UserError
from scripts.results import MARKER, REFERENCE, ROOT, Place, Records, differing, main, pages
from tests.refusals.sentences import require_refusal

RECORDS = Records(ROOT / "results")
COLUMNS = [{"key": "run", "head": "run"}, {"key": "bleu", "head": "BLEU", "right": True}, {"key": "commit"}]
ROW: dict[str, Any] = {"name": "a", "values": {"bleu": [39.0, 38.9, 40.25]}}


def records(folder: Path, cell: str = "{bleu}", text: str = "") -> Records:
    table = {"columns": COLUMNS, "rows": [ROW | {"cells": {"run": "x", "bleu": cell}}]}
    one = {"title": "T", "commit": "abc", "tables": {"t": table}}
    (folder / "one.json").write_text(text or json.dumps(one).replace("39.0", "39.00"))
    return Records(folder)


def test_the_tables_of_the_pages_have_the_figures_of_the_records():
    assert {page.name: tables for page, _, tables in differing(ROOT)} == {}


@pytest.mark.parametrize("page", ["RESULTS.md", "README.md"])
def test_no_table_of_figures_is_written_by_hand(page: str):
    text = (ROOT / page).read_text(encoding="utf-8")
    by_hand = [block for block in re.findall(r"(?:^\|.*\n)+", MARKER.sub("", text), re.MULTILINE) if "](" not in block]
    assert by_hand == []  # the README's other table has the links to its pages


def test_each_record_is_shown_and_says_what_made_it():
    markers = [match for page in pages(ROOT) for match in MARKER.finditer(page.read_text("utf-8"))]
    shown = {(match["topic"], match["table"]) for match in markers if match["topic"]}
    assert {key for key, table in RECORDS.tables.items() if table.columns} == shown
    for place in RECORDS.places.values():
        if place.values and not place.origin("source"):
            assert all(place.origin(field) for field in ("data", "command", "commit", "hardware")), place.where


def origins(key: tuple[str, str, str]) -> Iterator[Place]:
    """Yields the rows that hold the figures of a row, through all references."""
    place = RECORDS.places[key]
    if place.values:
        yield place
    for cell in place.row.cells.values():
        for match in REFERENCE.finditer(cell):
            if match["path"].count("/") == 3:
                yield from origins(tuple(match["path"].split("/")[:3]))  # type: ignore[arg-type]


def test_the_readme_rests_on_data_that_a_reader_can_get():
    public = {*known().sets, *(name for name, where in known().elsewhere.items() if "generator" in where)}
    rows = [place for key in RECORDS.places if key[:2] == ("overview", "readme") for place in origins(key)]
    assert {place.where: place.origin("data") for place in rows if place.origin("data") not in public} == {}
    assert len(rows) > 6


def test_the_data_of_each_record_is_a_set_that_has_a_name():
    names = {*known().sets, *known().elsewhere, "random numbers", "random weights"}
    used = {place.where: (place.origin("data") or "").split(", ") for place in RECORDS.places.values() if place.values}
    assert {where: data for where, data in used.items() if not names.issuperset(data)} == {}


def test_no_figure_of_a_table_of_scores_is_written_into_a_cell():
    for (topic, table, name), place in RECORDS.places.items():
        right = {column.key for column in RECORDS.tables[topic, table].columns if column.right}
        for key in right & place.row.cells.keys():
            assert not re.search(r"\d\.\d", REFERENCE.sub("", place.row.cells[key])), (topic, table, name, key)


def test_a_cell_refers_to_figures(tmp_path: Path):
    for cell, expected in (
        ("{bleu}", " 39.00, 38.9, 40.25"),
        ("**{bleu:median}**", " **39.00**"),
        ("{bleu:mean}; {commit}", " 39.38; abc"),
        ("{bleu:/.1f}", " 39.0 / 38.9 / 40.3"),
        ("{bleu[2]:.1f} {one/t/a/bleu[1]}", " 40.3 38.9"),
        ("", ""),
    ):
        lines = ["| run | BLEU | |", "|---|---:|---|", f"| x |{expected} | abc |"]
        assert records(tmp_path, cell).lines("one", "t").splitlines() == lines
    for cell in ("{blue}", "{bleu[3]}", "{one/t/b/bleu}", "{bleu:x}"):
        with pytest.raises(UserError, match=rf"row a: {re.escape(cell)} leads to no figure; write .* keys: bleu$"):
            records(tmp_path, cell).lines("one", "t")


def test_a_file_that_is_no_record_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match=r"one.json, line 2: this is no JSON \(Expecting value\)"):
        records(tmp_path, text='{"title":\n,}')
    with pytest.raises(UserError, match=r"one.json: unknown option rows: "):
        records(tmp_path, text='{"title": "T", "tables": {}, "rows": []}')
    require_refusal(lambda: records(tmp_path).lines("one", "u"), r"results/one.json has no table u: .*choices: t")


def test_check_names_the_tables_that_differ_and_the_script_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture):
    page = "# R\n\n<!-- results/one.json: t -->\n| old |\n|---|\n\nend\n"
    for name in ("README.md", "RESULTS.md"):
        (tmp_path / name).write_text(page)
    (tmp_path / "results").mkdir()
    table = records(tmp_path / "results").lines("one", "t")
    assert main(["--check"], tmp_path) == 1 and (tmp_path / "README.md").read_text() == page
    assert main([], tmp_path) == 0
    assert capsys.readouterr().out == "README.md: one: t\nRESULTS.md: one: t\n" * 2
    assert (tmp_path / "README.md").read_text() == page.replace("| old |\n|---|\n", table)
    assert main(["--check"], tmp_path) == 0
