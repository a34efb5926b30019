import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from mt.comparison.page import write
from mt.comparison.runs import find
from mt.comparison.table import compare

HOSTILE = "<script>alert('x')</script> & more"


class Page(HTMLParser):
    """The texts of a page by the tag that they stand in, its pictures, and the runs that its scripts draw."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[tuple[str, str]] = []
        self.pictures: list[str] = []
        self.links: list[str] = []
        self.outside: list[str] = []
        self.runs: list[dict] = []
        self._tag = ""
        self._data = False

    def handle_starttag(self, tag, attributes):
        self._tag = tag
        result = dict(attributes)
        self._data = result.get("id") == "data"
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
    titles = ["Learning curves", "Settings that differ", "Test sentences"]
    assert [text for tag, text in page.texts if tag == "h2"] == titles
    assert len(set(page.pictures)) == 3  # loss, bleu, chrf
    assert all(curve.startswith("data:image/png;base64,iVBORw") for curve in page.pictures)
    assert page.outside == []


def test_the_first_sentences_are_drawn_from_what_evaluations_kept(written, references) -> None:
    page = Page()
    page.feed((written[2] / "index.html").read_text(encoding="utf-8"))
    first, second = page.runs
    assert [run["name"] for run in page.runs] == [row.name for row in written[0].rows]
    # Of the second sentence another text was kept, and of the second run nothing.
    texts = [{"source": source, "references": references[i]} for i, source in enumerate([HOSTILE, "source 1"])]
    assert first["records"] == [
        {"text": HOSTILE, "source": HOSTILE, "rows": [[0, 1000]]},
        {"text": HOSTILE, **texts[1]},
    ]
    assert second["records"] == [{"text": written[1][1].hypotheses[i], **texts[i]} for i in range(2)]


@pytest.mark.parametrize("content", ["{", "\n", "[1]\n[2]\n", "\x00", "[" * 100_000])
def test_a_damaged_file_of_alignments_is_as_none(make_run, references, tmp_path, content: str) -> None:
    runs = find([make_run("a")])
    (runs[0].folder / "alignments/test.jsonl").write_text(content)
    write(compare(runs, references), ["source"] * 12, references, tmp_path / "page", sentences=2)
    page = Page()
    page.feed((tmp_path / "page/index.html").read_text(encoding="utf-8"))
    assert [record["text"] for record in page.runs[0]["records"]] == list(runs[0].hypotheses[:2])


def test_text_is_text(written) -> None:
    page = (written[2] / "index.html").read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script>") == 3  # the data, and the two scripts
    assert "<script>alert(" not in page and page.count("\\u003cscript>alert(") == 4


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


def test_a_page_of_one_run_without_a_log(make_run, references, tmp_path) -> None:
    write(compare(find([make_run("only")]), references), ["source"] * 12, references, tmp_path / "page", sentences=0)
    page = (tmp_path / "page/index.html").read_text(encoding="utf-8")
    assert "<h2>" not in page and "<table" in page and "<img" not in page


def test_the_table_and_the_numbers_have_files_of_their_own(written) -> None:
    comparison, _, folder = written
    assert (folder / "table.md").read_text(encoding="utf-8") == comparison.markdown() + "\n"
    assert json.loads((folder / "comparison.json").read_text(encoding="utf-8")) == comparison.plain()
