"""Plants faults in a copy of the code, one at a time, and says which of them the tests of their module do not see.

    python -m tests.mutants mt/ops mt/search mt/metrics --count 60 --seed 1

Faults are drawn from comparisons, arithmetic, constants, negations, `and`/`or` and pairs such as min and max. The test
file that mirrors a module runs first, and then its folder, with the tables of refusals, each up to the first failure.
"""

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
OPERATORS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
PAIRS = [
    ("min", "max"),
    ("amin", "amax"),
    ("minimum", "maximum"),
    ("any", "all"),
    ("floor", "ceil"),
    ("cumsum", "cumprod"),
]
CALLS = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
SECONDS = 240
"""The most time of a run of tests, after which a fault counts as seen: something does not end."""


class Mutant(NamedTuple):
    path: Path
    line: int
    kind: str
    text: str
    """Of the whole file, with the fault."""

    def shown(self) -> str:
        return (
            f"{self.path.relative_to(ROOT)}:{self.line}: {self.kind}: {self.text.splitlines()[self.line - 1].strip()}"
        )


def changes(node: ast.AST, text: str, place: "Place") -> Iterator[tuple[str, int, int, str]]:
    """Yields the kind of a fault in a node, and what takes the place of which part of the text."""
    match node:
        case ast.Compare(left, [operator], [right]):
            yield "comparison", place(left)[1], place(right)[0], f" {COMPARED[type(operator)]} "
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            old, new = OPERATORS[type(operator)]
            begin, end = place(left)[1], place(right)[0]
            yield "arithmetic", begin, end, text[begin:end].replace(old, new, 1)
        case ast.Constant(bool() as value):
            yield "truth", *place(node), repr(not value)
        case ast.Constant(int() | float() as value):
            yield "constant", *place(node), repr(value + 1)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand) if not isinstance(operand, ast.Constant):
            begin, end = place(operand)
            yield "negation", *place(node), f"({text[begin:end]})"
        case ast.BoolOp(operator, [left, right]):
            begin, end = place(left)[1], place(right)[0]
            old, new = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
            yield "connective", begin, end, text[begin:end].replace(old, new)
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name) as function) if name in CALLS:
            end = place(function)[1]
            yield "call", end - len(name), end, CALLS[name]


class Place:
    """Where a node stands in a text, in characters: (begin, end)."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines(keepends=True)
        self.starts = [sum(map(len, self.lines[:number])) for number in range(len(self.lines))]

    def __call__(self, node: ast.AST) -> tuple[int, int]:
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())


def uncounted(node: ast.AST) -> bool:
    """Returns whether faults within a node are of no interest: sentences, types, and what only checks arguments."""
    return isinstance(node, (ast.Raise, ast.JoinedStr)) or (isinstance(node, ast.keyword) and node.arg == "strict")


def mutants(path: Path) -> Iterator[Mutant]:
    text = path.read_text(encoding="utf-8")
    place = Place(text)

    def within(node: ast.AST) -> Iterator[Mutant]:
        if uncounted(node):
            return
        for kind, begin, end, new in changes(node, text, place):
            faulty = text[:begin] + new + text[end:]
            if faulty != text:
                yield Mutant(path, text.count("\n", 0, begin) + 1, kind, faulty)
        types = {getattr(node, "annotation", None), getattr(node, "returns", None)}
        for child in ast.iter_child_nodes(node):
            if child not in types:
                yield from within(child)

    yield from within(ast.parse(text))


def is_seen(mutant: Mutant, copy: Path) -> bool:
    """Plants a fault in the copy, and returns whether a test fails."""
    path = copy / mutant.path.relative_to(ROOT)
    before = path.read_text(encoding="utf-8")
    inner = path.relative_to(copy)
    inner = inner.relative_to("mt") if inner.parts[0] == "mt" else inner
    mirror = copy / "tests" / inner.with_name(f"test_{inner.name}")
    # Beside a module at the top of `mt` there are all tests, of which its own file is enough.
    folder = next(folder for folder in mirror.parents if folder.is_dir())
    folders = [copy / "tests" / "refusals", *([folder] if len(inner.parts) > 1 else [])]
    path.write_text(mutant.text, encoding="utf-8")
    try:
        runs = [[mirror]] if mirror.exists() else []
        return any(fails(copy, tests) for tests in [*runs, folders])
    finally:
        path.write_text(before, encoding="utf-8")


def fails(copy: Path, tests: Sequence[Path]) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *map(str, tests)]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in (0, 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    paths = sorted(path for folder in options.folders for path in (ROOT / folder).rglob("*.py"))
    drawn = random.Random(options.seed).sample([mutant for path in paths for mutant in mutants(path)], options.count)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(copy), "HEAD"], cwd=ROOT, check=True)
        try:
            seen = [report(mutant, is_seen(mutant, copy)) for mutant in drawn]
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(copy)], cwd=ROOT, check=True)
    print(f"{sum(seen)} of {len(drawn)} faults are seen")


def report(mutant: Mutant, seen: bool) -> bool:
    """Prints a fault that no test has seen at once, since all of them take long."""
    if not seen:
        print(mutant.shown(), flush=True)
    return seen


if __name__ == "__main__":
    main()
