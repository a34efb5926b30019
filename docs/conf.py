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


def setup(app: Any) -> None:
    write_reference(ROOT / "docs" / "reference")
    app.connect("source-read", _name_folders)
    app.connect("autodoc-process-docstring", _escape_bars)


def _name_folders(app: Any, document: str, source: list[str]) -> None:
    """Takes away links to folders, which a site does not show."""
    folder = (ROOT / document).parent

    def replaced(link: re.Match[str]) -> str:
        return link[1] if (folder / link[2]).is_dir() else link[0]

    source[0] = LINK.sub(replaced, source[0])


def _escape_bars(app: Any, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Keeps bars in docstrings, as of probabilities p(y | x), from being taken for substitutions."""
    lines[:] = [line.replace("|", "\\|") for line in lines]
