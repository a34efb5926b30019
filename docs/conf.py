"""The site of these pages: `python -m sphinx -W -c docs -b html . outputs/site`. Needs no network."""

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from reference import write_reference  # noqa: E402

project = "mt"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
include_patterns = [
    "README.md",
    "RESULTS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "mt/README.md",
    "mt/kernels/README.md",
    "tests/README.md",
    "docs/**",
]
root_doc = "docs/index"
html_theme = "furo"
html_title = "mt"
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "description"
add_module_names = False
suppress_warnings = ["myst.header"]
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s]+)\)")
ENTRY = re.compile(r"^- \*\*(.+?)\*\*: (.+)$", re.MULTILINE)
"""An entry of docs/definitions.md: its terms, parted by commas, and what they mean."""
NOT_TEXT = re.compile(
    r"^```.*?^```|^ {4}.*?$|^#.*?$|<!--.*?-->|\{[\w-]+\}`[^`]*`|`[^`]*`|!?\[[^\]]*\]\([^)]*\)|<[^>\s]*>",
    re.MULTILINE | re.DOTALL,
)
"""Code, headings and links, in which no term is linked."""


def setup(app: Any) -> None:
    write_reference(ROOT / "docs" / "reference")
    app.connect("source-read", _name_folders)
    app.connect("source-read", _explain_terms)
    app.connect("autodoc-process-docstring", _escape_bars)
    app.connect("build-finished", _begin_at_index)


def _name_folders(app: Any, document: str, source: list[str]) -> None:
    """Takes away links to folders, which a site does not show."""
    folder = (ROOT / document).parent

    def replaced(link: re.Match[str]) -> str:
        return link[1] if (folder / link[2]).is_dir() else link[0]

    source[0] = LINK.sub(replaced, source[0])


def _explain_terms(app: Any, document: str, source: list[str]) -> None:
    """Links each term of docs/definitions.md where a page first uses it. There, makes entries of its list."""
    definitions = (ROOT / "docs" / "definitions.md").read_text(encoding="utf-8")
    if document == "docs/definitions":
        entries = ("\n".join([*terms.split(", "), f"  {meaning}\n"]) for terms, meaning in ENTRY.findall(definitions))
        source[0] = "\n".join([definitions.partition("\n- **")[0], "```{glossary}", *entries, "```", ""])
    elif not document.startswith(("docs/reference/", "CHANGELOG")):
        terms = {term for names, _ in ENTRY.findall(definitions) for term in names.split(", ")} - {"run"}  # also a verb
        spans = {match.span() for match in NOT_TEXT.finditer(source[0])}
        found: dict[tuple[int, int], str] = {}
        for term in sorted(terms, key=len, reverse=True):
            case = re.IGNORECASE if term.islower() else re.NOFLAG  # AL is no part of "et al."
            for match in re.finditer(rf"(?<![\w-]){re.escape(term)}s?(?![\w-])", source[0], case):
                if not any(match.start() < end and start < match.end() for start, end in [*spans, *found]):
                    found[match.span()] = term
                    break
        for start, end in sorted(found, reverse=True):
            shown, term = source[0][start:end], found[start, end]
            source[0] = f"{source[0][:start]}{{term}}`{shown} <{term}>`{source[0][end:]}"


def _begin_at_index(app: Any, exception: Exception | None) -> None:
    """Writes index.html, which leads to the first page: that stands with the others in docs/."""
    if exception is None and app.builder.name == "html":
        moved = '<meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">mt</a>'
        page = f'<!doctype html><meta charset="utf-8"><title>mt</title>{moved}\n'
        (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


def _escape_bars(app: Any, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Keeps bars in docstrings, as of probabilities p(y | x), from being taken for substitutions."""
    lines[:] = [line.replace("|", "\\|") for line in lines]
