import json
from base64 import b64encode
from html.parser import HTMLParser

import pytest

from mt.comparison.page import write
from mt.comparison.runs import find
from mt.comparison.table import compare

HOSTILE = "<script>alert('x')</script> & more"


class Page(HTMLParser):
    """The texts of a page by the tag that they stand in, and its pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[tuple[str, str]] = []
        self.pictures: list[str] = []
        self.outside: list[str] = []
        self._tag = ""

    def handle_starttag(self, tag, attributes):
        self._tag = tag
        found = dict(attributes)
        if tag == "img":
            self.pictures.append(found["src"])
        self.outside += [found[name] for name in ("href", "src") if not found.get(name, "data:").startswith("data:")]

    def handle_data(self, data):
        if text := data.strip():
            self.texts.append((self._tag, text))


@pytest.fixture
def written(make_run, references, tmp_path):
    sources = [HOSTILE, *(f"source {n}" for n in range(1, 12))]
    attention = {"attention": {"name": "mocha"}}
    runs = find([make_run("a", {}, {}, [HOSTILE] * 12), make_run("b", attention)])
    comparison = compare(runs, references)
    write(comparison, sources, references, tmp_path / "new" / "page", sentences=2)
    return comparison, runs, tmp_path / "new" / "page"


def test_one_file_with_the_table_and_the_same_sentences_under_each_run(written) -> None:
    comparison, runs, folder = written
    assert sorted(path.name for path in folder.iterdir()) == ["comparison.json", "index.html", "table.md"]
    page = Page()
    page.feed((folder / "index.html").read_text(encoding="utf-8"))
    assert [text for tag, text in page.texts if tag == "th"] == comparison.header()
    cells = [text for tag, text in page.texts if tag == "td"]
    assert cells == [cell for row in comparison.rows for cell in comparison.cells(row)]
    assert [text for tag, text in page.texts if tag == "h2"] == ["Test sentence 1", "Test sentence 2"]
    drawn = [b64encode((run.folder / "alignments/0000.png").read_bytes()).decode() for run in runs]
    assert page.pictures == [f"data:image/png;base64,{picture}" for picture in drawn]
    assert page.outside == []
    # Only the first sentence was drawn.
    assert sum(text == "no heatmap was drawn" for _, text in page.texts) == 2
    names = [text for tag, text in page.texts if tag == "strong"]
    assert names == [row.name for row in comparison.rows] * 2
    assert ("dd", "this is sentence number 1 of the test") in page.texts


def test_text_is_text(written) -> None:
    page = (written[2] / "index.html").read_text(encoding="utf-8")
    assert "<script" not in page and page.count("&lt;script&gt;alert(") == 3


def test_the_table_and_the_numbers_have_files_of_their_own(written) -> None:
    comparison, _, folder = written
    assert (folder / "table.md").read_text(encoding="utf-8") == comparison.markdown() + "\n"
    assert json.loads((folder / "comparison.json").read_text(encoding="utf-8")) == comparison.plain()
