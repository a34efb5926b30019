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
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
PAIRS = ("min max", "amin amax", "minimum maximum", "any all", "floor ceil", "cumsum cumprod")
CALLS = {one: other for pair in map(str.split, PAIRS) for one, other in (pair, pair[::-1])}
SECONDS = 240
"""The most time of a run of tests, after which a fault counts as seen: something does not end."""


class Mutant(NamedTuple):
    path: Path
    line: int
    kind: str
    fault: str
    text: str
    """Of the whole file, with the fault."""

    def shown(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.kind}: {self.fault}"


def changed(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yields the kind of each fault of a node, and the node that has it."""

    def other(**parts: Any) -> ast.AST:
        return type(node)(**dict(ast.iter_fields(node)) | parts)

    match node:
        case ast.Compare(ops=[operator]):
            yield "comparison", other(ops=[COMPARED[type(operator)]()])
        case ast.BinOp(op=operator) if type(operator) in OPERATORS:
            yield "arithmetic", other(op=OPERATORS[type(operator)]())
        case ast.Constant(bool() as value):
            yield "truth", ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            yield "constant", ast.Constant(value + 1)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand) if not isinstance(operand, ast.Constant):
            yield "negation", operand
        case ast.BoolOp(op=operator, values=[_, _]):
            yield "connective", other(op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.Call(ast.Name(name)) if name in CALLS:
            yield "call", other(func=ast.Name(CALLS[name]))
        case ast.Call(ast.Attribute(owner, name)) if name in CALLS:
            yield "call", other(func=ast.Attribute(owner, CALLS[name]))


def uncounted(node: ast.AST) -> bool:
    """Returns whether faults within a node are of no interest: sentences, and what only checks arguments."""
    return isinstance(node, (ast.Raise, ast.JoinedStr)) or (isinstance(node, ast.keyword) and node.arg == "strict")


def mutants(path: Path) -> Iterator[Mutant]:
    tree = ast.parse(path.read_text(encoding="utf-8"))

    def within(node: ast.AST) -> Iterator[Mutant]:
        for field, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            for place, child in enumerate(children):
                if field in ("annotation", "returns") or not isinstance(child, ast.AST) or uncounted(child):
                    continue
                for kind, new in changed(child):
                    setattr(node, field, [*children[:place], new, *children[place + 1 :]] if children is value else new)
                    text = ast.unparse(tree)
                    setattr(node, field, value)
                    yield Mutant(path, child.lineno, kind, ast.unparse(new), text)
                yield from within(child)

    yield from within(tree)


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
