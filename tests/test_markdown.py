"""The pages: tables that are whole, and links that lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "mt").rglob("*.md")]


def text_of(page: Path) -> str:
    """Without what is shown as code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_row_belongs_to_a_table(page: Path):
    for block in re.split(r"\n\s*\n", text_of(page)):
        rows = [line for line in block.split("\n") if line.startswith("|")]
        if rows:
            assert len(rows) > 1 and re.fullmatch(r"[|:\- ]+", rows[1]), rows[0]
            widths = {len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", row))) for row in rows}
            assert len(widths) == 1, rows[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_leads_to_a_file(page: Path):
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text_of(page))
    lost = [link for link in links if not re.match(r"\w+:", link) and not (page.parent / link).exists()]
    assert not lost
