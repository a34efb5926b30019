import json
import re
from base64 import b64encode
from html.parser import HTMLParser
from urllib.parse import unquote

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
        self.links: list[str] = []
        self.outside: list[str] = []
        self._tag = ""

    def handle_starttag(self, tag, attributes):
        self._tag = tag
        result = dict(attributes)
        if tag == "img":
            self.pictures.append(result["src"])
        if tag == "a":
            self.links.append(result["href"])
        elif not result.get("src", result.get("href", "data:")).startswith("data:"):
            self.outside.append(tag)

    def handle_data(self, data):
        if text := data.strip():
            self.texts.append((self._tag, text))


@pytest.fixture
def written(make_run, references, tmp_path):
    sources = [HOSTILE, *(f"source {n}" for n in range(1, 12))]
    attention = {"attention": {"name": "mocha"}}
    log = [{"kind": "dev", "update": n, "loss": 5 - n / 100, "bleu": n / 10, "chrf": 3} for n in (50, 100, 150)]
    runs = find([make_run("a: 1 & %", {}, {}, [HOSTILE] * 12, log), make_run("b", attention, {"perplexity": 3.0})])
    comparison = compare(runs, references)
    write(comparison, sources, references, tmp_path / "new" / "page", sentences=2)
    return comparison, runs, tmp_path / "new" / "page"


def test_one_file_with_the_table_and_the_same_sentences_under_each_run(written) -> None:
    comparison, runs, folder = written
    assert sorted(path.name for path in folder.iterdir()) == [
        "comparison.json", "index.html", "table.csv", "table.md", "table.tex",
    ]  # fmt: skip
    page = Page()
    page.feed((folder / "index.html").read_text(encoding="utf-8"))
    columns = comparison.columns()
    names = [row.name for row in comparison.rows]
    shown = [text for tag, text in page.texts if tag in ("th", "button", "td", "a")]
    table = [column.heading for column in columns] + [column.cells[row] for row in range(2) for column in columns]
    assert shown[: len(table)] == table
    assert shown[len(table) : len(table) + 3] == ["option", *names]
    assert shown[len(table) + 3 :][:3] == ["attention.name", *(run.attention for run in runs)]
    titles = ["Learning curves", "Settings that differ", "Test sentence 1", "Test sentence 2"]
    assert [text for tag, text in page.texts if tag == "h2"] == titles
    drawn = [b64encode((run.folder / "alignments/0000.png").read_bytes()).decode() for run in runs]
    curves, pictures = page.pictures[:3], page.pictures[3:]  # loss, bleu, chrf
    assert pictures == [f"data:image/png;base64,{picture}" for picture in drawn]
    assert len(set(curves)) == 3 and all(curve.startswith("data:image/png;base64,iVBORw") for curve in curves)
    assert page.outside == []
    # Only the first sentence was drawn.
    assert sum(text == "no heatmap was drawn" for _, text in page.texts) == 2
    assert [text for tag, text in page.texts if tag == "strong"] == names * 2
    assert ("dd", "this is sentence number 1 of the test") in page.texts


def test_text_is_text(written) -> None:
    page = (written[2] / "index.html").read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script>") == 1 and page.count("&lt;script&gt;alert(") == 3


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
        assert not {"\x1b", "\x9b"} & set(text), path
        assert "31mred" in text, path


def test_names_lead_to_the_folders_of_the_runs(written, tmp_path) -> None:
    _, runs, folder = written
    page = Page()
    page.feed((folder / "index.html").read_text(encoding="utf-8"))
    assert page.links == ["../../runs/a%3A%201%20%26%20%25/", "../../runs/b/"]
    assert [(folder / unquote(link)).resolve() for link in page.links] == [run.folder.resolve() for run in runs]


def test_the_best_of_a_column_is_bold(written) -> None:
    comparison, _, folder = written
    bold = re.findall(
        r"<td class=best data-value=[^>]*>(.*?)</td>", (folder / "index.html").read_text(encoding="utf-8")
    )
    expected = [column.cells[row] for row in range(2) for column in comparison.columns() if row in column.best()]
    assert bold == expected and len(bold) >= 3


def test_a_picture_is_enlarged_in_a_modal_dialog_which_escape_closes(written) -> None:
    page = (written[2] / "index.html").read_text(encoding="utf-8")
    assert page.count("<dialog") == 1 and "dialog.showModal()" in page
    assert page.count('<button title="enlarge"><img') == 2
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page


def test_an_attention_that_uses_no_source_has_no_heatmap(make_run, references, tmp_path) -> None:
    none = make_run("none", {"attention": {"name": "none"}}, {"attention": {}})
    write(compare(find([none]), references), ["source"] * 12, references, tmp_path / "page", sentences=1)
    page = (tmp_path / "page/index.html").read_text(encoding="utf-8")
    assert "data:image" not in page and "uses no source position" in page


def test_a_page_of_one_run_without_a_log(make_run, references, tmp_path) -> None:
    write(compare(find([make_run("only")]), references), ["source"] * 12, references, tmp_path / "page", sentences=0)
    page = (tmp_path / "page/index.html").read_text(encoding="utf-8")
    assert "<h2>" not in page and "<table" in page


def test_the_table_and_the_numbers_have_files_of_their_own(written) -> None:
    comparison, _, folder = written
    assert (folder / "table.md").read_text(encoding="utf-8") == comparison.markdown() + "\n"
    assert json.loads((folder / "comparison.json").read_text(encoding="utf-8")) == comparison.plain()
