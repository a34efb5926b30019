"""Sentences of the pages, and of docstrings, comments and messages, have at most 25 words."""

import ast
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST = 25
WRITTEN = {path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")}
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(path) for path in WRITTEN if path.parts[:2] != ("docs", "reference")),
]
# Whose docstrings, comments and messages are held to the rule. What a folder lacks is printed by
# `python tests/test_prose.py FOLDER`.
CODE = ["conf", "data_prep", "examples", "mt", "scripts", "train.py"]
SAYS = re.compile(r"\w*(Error|Exit|Warning)|warn|warning")
"""The functions that take a message."""


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


def comments(file: Path) -> Iterator[str]:
    """Yields the comments of a file of Python or YAML; one goes on in the lines below that have it at its column."""
    lines = file.read_text(encoding="utf-8").splitlines()
    if file.suffix == ".yaml":
        marks = [(n, match.start(1)) for n, line in enumerate(lines) if (match := re.search(r"(?:^|\s)(#)", line))]
    else:
        tokens = tokenize.generate_tokens(iter([f"{line}\n" for line in lines]).__next__)
        marks = [(token.start[0] - 1, token.start[1]) for token in tokens if token.type == tokenize.COMMENT]
    comment: list[str] = []
    last = None
    for n, column in marks:
        if last != (n - 1, column) or lines[n][:column].strip():
            yield "\n".join(comment)
            comment = []
        if "@package" in lines[n]:  # an order to Hydra
            continue
        comment.append(re.sub("^#+ ?(   *)?", lambda match: "\n    " if match[1] else "", lines[n][column:]))
        last = n, column
    yield "\n".join(comment)


def docstrings(code: ast.Module) -> Iterator[str]:
    """Yields the docstrings of a module, its classes, functions and attributes, without their examples."""
    for node in ast.walk(code):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            plain = node.value.value.replace("\n" + " " * node.col_offset, "\n")
            yield re.sub(r"^>>> .*?(\n\n|\Z)", "\n", plain, flags=re.DOTALL | re.MULTILINE)


def messages(code: ast.Module) -> Iterator[str]:
    """Yields the texts that errors and warnings are made of; a value within one counts as a word."""
    nodes = [*ast.walk(code)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    raised = [node.exc for node in nodes if isinstance(node, ast.Raise)]
    says = [call for call in calls if call in raised or SAYS.fullmatch(ast.unparse(call.func).split(".")[-1])]
    parts = dict.fromkeys(part for call in says for part in ast.walk(call))
    pieces = {piece for part in parts if isinstance(part, ast.JoinedStr) for piece in part.values}
    for part in parts:
        if isinstance(part, ast.JoinedStr):
            yield "".join(str(piece.value) if isinstance(piece, ast.Constant) else "value" for piece in part.values)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and part not in pieces:
            yield part.value


def files_of(folder: str) -> list[Path]:
    """Returns the files of Python and YAML in a folder, sorted, or the one file itself."""
    return [file for file in sorted([ROOT / folder, *(ROOT / folder).rglob("*")]) if file.suffix in (".py", ".yaml")]


def texts(file: Path) -> Iterator[str]:
    """Yields the prose of a file of code; years and pages of a source in parentheses are no prose."""
    yield from comments(file)
    if file.suffix == ".py":
        code = ast.parse(file.read_text(encoding="utf-8"))
        yield from docstrings(code)
        yield from messages(code)


def long_in(file: Path) -> list[str]:
    plain = (re.sub(r" \([^()]*\b(19|20)\d\d\b[^()]*\)", "", text) for text in texts(file))
    return [sentence for text in plain for sentence in long_sentences(text)]


@pytest.mark.parametrize("page", PAGES)
def test_sentences_are_short(page: str) -> None:
    assert long_sentences((ROOT / page).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("folder", CODE)
def test_sentences_of_code_are_short(folder: str) -> None:
    files = files_of(folder)
    assert files
    assert {str(file.relative_to(ROOT)): long for file in files if (long := long_in(file))} == {}


def test_what_is_counted() -> None:
    text = "# Head\n\nOne `a b c` two.\nThree: Four.\n\n    code here\n\n- An item\n  goes on.\n\n| a cell | b |\n"
    assert [part for part in paragraphs(text) if part] == [
        "Head", "One `a b c` two. Three: Four.", "An item goes on.", " a cell ", " b ",
    ]  # fmt: skip


def test_prose_of_code(tmp_path: Path) -> None:
    words = " word" * MOST
    python, yaml = tmp_path / "a.py", tmp_path / "a.yaml"
    python.write_text(
        f'"""Short. See{words}.\n\n>>> {words}\n"""\n\nx = 1  # Own{words}\n# Begins\n# and{words}\n#   code{words}\n'
        f'y = 2\n"""An attribute{words}"""\n\nraise KeyError(f"{{x}}{words}")\nerror = UserError("Bad{words}")\n'
    )
    yaml.write_text(f"a: 1  # one\nb: 2  # two{words}\n      # which\n      # goes on\n")
    assert [sentence.split()[0] for sentence in long_in(python)] == ["Own", "Begins", "See", "An", "value", "Bad"]
    assert long_in(yaml) == [f"two{words} which goes on"]


if __name__ == "__main__":
    for path in files_of(sys.argv[1]):
        for sentence in long_in(path):
            print(f"{path}: {sentence}")
