import json
import os
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from mt.comparison.page import write
from mt.comparison.runs import find
from mt.comparison.table import compare

HOSTILE = "<script>alert('x')</script> & more"


class Page(HTMLParser):
    """The texts of a page by the tag that they stand in, its pictures, and the runs that its scripts draw."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.texts: list[tuple[str, str]] = []
        self.best: list[str] = []
        self.pictures: list[str] = []
        self.links: list[str] = []
        self.outside: list[str] = []
        self.runs: list[dict] = []
        self._tag = ""
        self._data = self._best = False
        self.feed((folder / "index.html").read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self._tag = tag
        result = dict(attributes)
        self._data = result.get("id") == "data"
        self._best = result.get("class") == "best"
        if tag == "img":
            self.pictures.append(result["src"])
        if tag == "a":
            self.links.append(result["href"])
        elif not result.get("src", result.get("href", "data:")).startswith("data:"):
            self.outside.append(tag)

    def handle_data(self, data):
        if self._data:
            self.runs = json.loads(data)["runs"]
            self._data = False
        elif text := data.strip():
            self.texts.append((self._tag, text))
            self.best += [text] if self._best else []


LINES = ('{"text": NaN}', "[" * 200_000, '{"text": 5}', "null", "{", "[1]", "\0")


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero"), *LINES])
def test_a_damaged_file_of_records_leaves_the_texts(make, make_run, references, tmp_path: Path) -> None:
    runs = find([make_run("a")])
    path = runs[0].folder / "alignments/test.jsonl"
    path.write_text(f"{make}\n" * 12) if isinstance(make, str) else make(path)
    write(compare(runs, references), ["source"] * 12, references, tmp_path / "page", sentences=2)
    page = Page(tmp_path / "page")
    assert [record["text"] for record in page.runs[0]["records"]] == list(runs[0].hypotheses[:2])
    # Of one run without a log there is a table, and nothing that differs or is drawn.
    assert [text for tag, text in page.texts if tag == "h2"] == ["Test sentences"] and not page.pictures


@pytest.fixture
def written(make_run, references, tmp_path):
    sources = [HOSTILE, *(f"source {n}" for n in range(1, 12))]
    attention = {"attention": {"name": "mocha"}}
    log = [{"kind": "dev", "update": n, "loss": 5 - n / 100, "bleu": n / 10, "chrf": 3} for n in (50, 100, 150)]
    runs = find([make_run("a: 1 & %", {}, {}, [HOSTILE] * 12, log), make_run("b", attention, {"perplexity": 3.0})])
    kept = [{"text": HOSTILE, "source": sources[0], "rows": [[0, 1000]]}, {"text": "of an earlier evaluation"}]
    (runs[0].folder / "alignments/test.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in kept))
    comparison = compare(runs, references)
    write(comparison, sources, references, tmp_path / "new" / "page", sentences=2)
    return comparison, runs, tmp_path / "new" / "page"


def test_one_file_with_the_table_and_the_differing_settings(written) -> None:
    comparison, runs, folder = written
    names = ["comparison.json", "index.html", "table.csv", "table.md", "table.tex"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert (folder / "table.md").read_text(encoding="utf-8") == comparison.markdown() + "\n"
    assert json.loads((folder / "comparison.json").read_text(encoding="utf-8")) == comparison.plain()
    page = Page(folder)
    columns = comparison.columns()
    shown = [text for tag, text in page.texts if tag in ("th", "button", "td", "a")]
    table = [column.heading for column in columns] + [column.cells[row] for row in range(2) for column in columns]
    assert shown[: len(table)] == table
    assert shown[len(table) : len(table) + 3] == ["option", *(row.name for row in comparison.rows)]
    assert shown[len(table) + 3 :][:3] == ["attention.name", *(run.attention for run in runs)]
    assert page.best == [column.cells[row] for row in range(2) for column in columns if row in column.best()]
    assert len(page.best) >= 3
    titles = ["Learning curves", "Settings that differ", "Test sentences"]
    assert [text for tag, text in page.texts if tag == "h2"] == titles
    assert len(set(page.pictures)) == 3  # loss, bleu, chrf
    assert all(curve.startswith("data:image/png;base64,iVBORw") for curve in page.pictures)
    assert page.outside == []
    assert page.links == ["../../runs/a%3A%201%20%26%20%25/", "../../runs/b/"]
    assert [(folder / unquote(link)).resolve() for link in page.links] == [run.folder.resolve() for run in runs]


def test_the_first_sentences_are_drawn_from_what_evaluations_kept(written, references) -> None:
    comparison, runs, folder = written
    page = Page(folder)
    assert [run["name"] for run in page.runs] == [row.name for row in comparison.rows]
    # Of the second sentence another text was kept, and of the second run nothing.
    texts = [{"source": source, "references": references[i]} for i, source in enumerate([HOSTILE, "source 1"])]
    drawn, other = (run["records"] for run in page.runs)
    assert drawn == [{"text": HOSTILE, "source": HOSTILE, "rows": [[0, 1000]]}, {"text": HOSTILE, **texts[1]}]
    assert other == [{"text": runs[1].hypotheses[i], **texts[i]} for i in range(2)]
    text = (folder / "index.html").read_text(encoding="utf-8")
    assert text.count("<script") == text.count("</script>") == 3  # the data, and the two scripts
    assert "<script>alert(" not in text and text.count("\\u003cscript>alert(") == 4


def test_no_file_has_a_control_character_of_a_foreign_run(make_run, references, tmp_path) -> None:
    escape = "\x1b[31mred\x9b"
    search = {"search": {"name": f"beam{escape}", "mode": f"soft{escape}", "beam_size": 5}}
    log = [{"kind": "dev", "update": 50, "loss": 5}]
    online = search | {"bleu": {"score": 1.0}, "al": {"score": 2.0, "signature": "unit:word"}, "dal": {"score": 2.0}}
    runs = find([make_run(name, {"attention": {"name": "mocha"}}, online, [escape] * 12, log) for name in "ab"])
    write(compare(runs, references), [escape] * 12, references, tmp_path / "page", sentences=2)
    written = [path for path in (tmp_path / "page").iterdir() if path.suffix != ".png"]
    assert len(written) == 5
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert not {"\x1b", "\x9b"} & set(text) and "31mred" in text, path
