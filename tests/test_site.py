"""The site of the pages builds without a warning: every link resolves, and no page is unlinked."""

import subprocess
import sys
from pathlib import Path

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
    assert (tmp_path / "site" / "searchindex.js").exists()
