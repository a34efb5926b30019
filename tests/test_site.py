"""The site of the pages builds without a warning: every link resolves, and no page is unlinked."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx", reason="the extra docs is not installed")
ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_site_builds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", "-d", tmp_path / "trees"]
    done = subprocess.run([*command, "-b", "html", ".", tmp_path / "site"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    options = (tmp_path / "site" / "docs" / "reference" / "options.html").read_text(encoding="utf-8")
    assert "attention.chunk_size" in options and "training.r_drop" in options
    python = (tmp_path / "site" / "docs" / "reference" / "python.html").read_text(encoding="utf-8")
    assert "likelihoods" in python and "Session" in python
    found = json.loads((tmp_path / "site" / "searchindex.js").read_text(encoding="utf-8")[len("Search.setIndex(") : -1])
    of_mocha = {found["docnames"][page] for page in found["terms"]["mocha"]}
    assert {"docs/online", "docs/tutorials/which-attention"} <= of_mocha
    home = (tmp_path / "site" / "docs" / "index.html").read_text(encoding="utf-8")
    pages = {os.path.relpath(f"{page}.html", "docs") for page in found["docnames"]} - {"index.html"}
    assert [page for page in pages if f'href="{page}"' not in home] == [], "a page that the list of pages lacks"


def module(name: str) -> Any:
    specification = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert specification and specification.loader
    loaded = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(loaded)
    return loaded


def test_pictures_are_of_figures_in_results() -> None:
    pictures = module("pictures")
    *policies, causal, bidirectional = pictures.policies()
    assert [len(line.points) for line in policies] == [4, 3, 1, 6] and causal.level < bidirectional.level
    rows = pictures.values("linear-time")
    assert all(len(rows[row]["s_2000"]) > place for lines in pictures.RATIOS.values() for row, place in lines.values())


def test_the_reference_has_all_that_is_known_of_an_option() -> None:
    """Name, type, default, unit, meaning, source, and the presets that change it; a number without a unit fails."""
    reference = module("reference")
    lines = [line for line in reference.options_page().splitlines() if line.startswith("| `")]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    options = {row[0].strip("`"): row[1:] for row in rows}
    assert len(options) > 150 and all(row[1] and (row[4] or row[5]) for row in rows)
    assert all(row[3] for row in rows if row[1].startswith(("integer", "number")))
    kind, default, unit, meaning, *_ = options["training.validate_every"]
    assert (kind, default, unit) == ("integer or null, > 0", "`null`", "updates") and meaning.startswith("Updates")
    assert options["attention.filters"][4] == "Chorowski et al. 2015: 10"
    assert "phrasebook `128`" in options["embedding.embedding_dim"][5]
    assert "morse" not in next(row[6] for row in rows if row[0] == "`frontend.channels`" and row[2] == "`128`")


def test_the_troubles_quote_sentences_that_the_code_says() -> None:
    text = " ".join(
        re.sub(r"\{[^{}]*\}", "...", re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8")))
        for folder in ("mt", "data_prep")
        for path in (ROOT / folder).rglob("*.py")
    )
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    symptoms = re.findall(r"^\| `([^`]{12,})`", page, re.MULTILINE)
    lost = [part for symptom in symptoms for part in symptom.split("...") if part.strip(", :") not in text]
    assert len(symptoms) > 15 and lost == []
