"""The pages: tables that are whole, links that lead somewhere, and commits and options that there are."""

import re
import shutil
import subprocess
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
    # The reference is generated with the site, whose test finds links that lead nowhere.
    links = [link for link in links if not re.match(r"\w+:|reference/", link)]
    lost = [link for link in links if not (page.parent / link).exists()]
    for link, anchor in re.findall(r"\]\(([^)#\s:]*\.md)?#([^)\s]+)\)", text_of(page)):
        headings = re.findall(r"^#+ (.*)$", text_of(page.parent / link if link else page), re.MULTILINE)
        slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        lost += [] if anchor in slugs else [f"{link}#{anchor}"]
    assert not lost


def reachable_commits() -> list[str]:
    """All commits of the history, in full; the test is skipped where it is not here."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("there is no history here")

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else pytest.skip("git cannot read the history")

    if git("rev-parse", "--is-shallow-repository").strip() == "true":
        pytest.skip("the history is shallow")
    return git("rev-list", "HEAD").split()


def test_a_commit_that_is_cited_is_in_the_history():
    commits = {commit[:7] for commit in reachable_commits()}
    lost = {}
    for page in PAGES:
        words = re.findall(r"\b[0-9a-f]{7}\b", page.read_text(encoding="utf-8"))
        # A number of seven digits is a commit where one begins so.
        lost |= {word: page.name for word in words if re.search("[a-f]", word) and word not in commits}
    assert lost == {}


def known_options() -> set[str]:
    """Names of options and of groups, whatever they belong to."""
    files = [*(ROOT / "conf").rglob("*.yaml"), *(ROOT / "mt").rglob("*.py"), *(ROOT / "data_prep").rglob("*.py")]
    texts = (path.read_text(encoding="utf-8") for path in files)
    return {name for text in texts for name in re.findall(r"^\s*(?:# *)?(\w+):", text, re.MULTILINE)}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_an_option_that_is_named_exists(page: Path):
    groups = "attention|dataset|decoder|embedding|encoder|frontend|init|optimizer|search|training"
    named = re.findall(rf"(?<![\w./-])(?:{groups})((?:\.[a-z_]\w*)+)", page.read_text(encoding="utf-8"))
    parts = {part for name in named for part in name.split(".")[1:]}
    # Endings of files, and parts of a model that training.freeze names.
    assert parts - known_options() - {"onnx", "pdf", "png", "safetensors", "recurrence", "output"} == set()
