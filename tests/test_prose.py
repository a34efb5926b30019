"""Sentences of the pages have at most 25 words."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST = 25
WRITTEN = {path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")}
PAGES = ["README.md", "CONTRIBUTING.md"]
PAGES += sorted(str(path) for path in WRITTEN if path.parts[:2] != ("docs", "reference"))


def paragraphs(text: str) -> Iterator[str]:
    """Yields the paragraphs, items and cells of a text, without its code."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        stripped = line.strip()
        is_code = line.startswith("    ") and not lines
        if not stripped or is_code or re.match(r"[#|]|- |\d+\. ", stripped):
            yield " ".join(lines)
            lines = []
        if stripped.startswith("|"):
            yield from stripped.strip("|").split("|")
        elif stripped and not is_code:
            lines.append(re.sub(r"^(#+|-|\d+\.) ", "", stripped))


def sentences(text: str) -> Iterator[str]:
    for paragraph in paragraphs(text):
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "Code", paragraph)).replace("**", "")
        yield from re.split(r"(?<=[.!?:;])\s+(?=[A-Z(\"'*|])|(?<=[.;])\s+(?=\w+(?:, \w+)*: )", plain)


def long_sentences(text: str) -> list[str]:
    return [sentence for sentence in sentences(text) if len(sentence.split()) > MOST]


@pytest.mark.parametrize("page", PAGES)
def test_sentences_are_short(page: str) -> None:
    assert long_sentences((ROOT / page).read_text(encoding="utf-8")) == []


def test_what_is_counted() -> None:
    text = "# Head\n\nOne `a b c` two.\nThree: Four.\n\n    code here\n\n- An item\n  goes on.\n\n| a cell | b |\n"
    assert [part for part in paragraphs(text) if part] == [
        "Head", "One `a b c` two. Three: Four.", "An item goes on.", " a cell ", " b ",
    ]  # fmt: skip
