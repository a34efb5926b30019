"""How many lines of code the project may have: two caps, with comments and docstrings free. What is built later pays by
deleting, or raises a cap in a commit that says why."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CAPS = {"mt": 24_204, "data_prep": 3_499}
SILENT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def code_lines(source: str) -> int:
    """Counts the lines that hold anything other than comments and docstrings."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for child in body if isinstance(body, list) else []:
            value = getattr(child, "value", None) if isinstance(child, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docstrings.update(range(child.lineno, (child.end_lineno or child.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SILENT:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings)


@pytest.mark.parametrize("folder", CAPS)
def test_code_stays_below_its_cap(folder: str) -> None:
    count = sum(code_lines(path.read_text(encoding="utf-8")) for path in (ROOT / folder).rglob("*.py"))
    assert count <= CAPS[folder], "delete as many lines, or raise the cap in a commit that says why"


def test_comments_and_docstrings_are_free() -> None:
    text = '"""A page.\n\nTwo lines."""\n\n# Why.\nx = (\n    1\n)\n\n\ndef f():\n    """It does."""\n    return x\n'
    assert code_lines(text) == 5


def test_scripts_of_the_page_are_written_in_lines() -> None:
    files = [*(ROOT / "mt" / "explorer").glob("*.*s")]  # .js and .css
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert files and max(map(len, lines)) <= 140


def test_scripts_of_the_page_share_no_name() -> None:
    """They stand in one scope, in which the later of two functions of one name quietly replaces the earlier."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "mt" / "explorer").glob("*.js"))
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", text, flags=re.MULTILINE)
    assert len(names) > 50
    assert sorted(names) == sorted(set(names))
