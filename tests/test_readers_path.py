"""What a person opens to understand the project stays short. A path is computed, not listed: the named files, the files
of the bases of their classes within this project, and what they call there, by name, of a class, of a module, or out of
a table."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
ATTENTION = ("mt/models/attention/base.py",)
ONE_MECHANISM = (
    *ATTENTION,
    "mt/models/attention/monotonic.py",
    "mt/models/decoders/luong.py",
    "mt/models/seq2seq.py",
    "mt/kernels/cross_entropy.py",
    "mt/training/loop.py",
)
"""From the verbs of an attention over one mechanism, decoder and loss up to a step of training."""
MOCHA = (*ONE_MECHANISM, "mt/models/attention/mocha.py", "mt/ops/chunkwise.py")
BEAM = (
    "mt/decoding/torch_network.py",
    "mt/search/config.py",
    "mt/search/beam.py",
    "mt/search/torch_stepper.py",
    "mt/models/decoders/luong.py",
)
"""From a batch of sources down to a step of the model."""
COMMAND = ("scripts/translate.py", "mt/cli/decode.py", "mt/decoding/lines.py", "mt/decoding/translator.py", *BEAM)


class Definition(NamedTuple):
    """Where a name comes from: the file that defines it, and how it is called there; no name of a whole module."""

    file: str
    name: str | None


def file_of(module: str) -> str | None:
    """The file of a module of this project; None of other modules."""
    path = Path(*module.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if module.split(".")[0] in ("mt", "scripts", "data_prep", "train") and (ROOT / file).is_file():
            return file.as_posix()
    return None


@cache
def tree_of(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


def definition(module: str, name: str) -> Definition | None:
    """What a module means by a name: not a package that only passes it on. None where that is not this project's."""
    if file := file_of(f"{module}.{name}"):
        return Definition(file, None)
    file = file_of(module)
    if file is not None and file.endswith("__init__.py"):
        for node in tree_of(file).body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if name == (alias.asname or alias.name):
                        return definition(str(node.module), alias.name)
    return None if file is None else Definition(file, name)


@cache
def imported(file: str) -> dict[str, Definition]:
    """The names that a file imports from this project."""
    names: dict[str, Definition | None] = {}
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                module = file_of(alias.name)
                names[alias.asname or alias.name] = Definition(module, None) if module else None
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: definition(str(node.module), alias.name) for alias in node.names}
    return {name: found for name, found in names.items() if found}


def meant(file: str, node: ast.expr) -> Definition | None:
    """What the beginning of an expression means: `table` of `table[key].method`, `function` of `module.function`."""
    attribute = None
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        attribute = node.attr if isinstance(node, ast.Attribute) else attribute
        node = node.func if isinstance(node, ast.Call) else node.value
    found = imported(file).get(node.id) if isinstance(node, ast.Name) else None
    return Definition(found.file, attribute) if found and found.name is None else found


def bases_of(file: str) -> Iterator[str]:
    """The files of the bases of a file's classes."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.ClassDef):
            yield from (base.file for expression in node.bases if (base := meant(file, expression)))


def called_by(file: str) -> Iterator[Definition]:
    """What of this project a file calls."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Call) and (called := meant(file, node.func)):
            yield called


def with_bases(named: Iterable[str]) -> list[str]:
    """The named files and those of their classes' bases."""
    files = [*named]
    for file in files:  # it grows: bases have bases
        files += [base for base in dict.fromkeys(bases_of(file)) if base not in files]
    return files


def lines_of(called: Definition) -> int:
    """How many lines define a function, a class or a table."""
    for node in tree_of(called.file).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = {getattr(target, "id", None) for target in targets} | {getattr(node, "name", None)}
        if called.name in names:
            return (node.end_lineno or 0) - node.lineno + 1
    return 0


def path_of(named: Iterable[str]) -> tuple[dict[str, int], dict[str, int]]:
    """The files that one reads, with their lines; and those in which one looks up what is called, with its lines."""
    read = with_bases(named)
    calls = dict.fromkeys(called for file in named for called in called_by(file) if called.file not in read)
    called: dict[str, int] = {}
    for one in calls:
        called[one.file] = called.get(one.file, 0) + lines_of(one)
    return {file: len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in read}, called


@pytest.mark.parametrize(
    ("named", "read", "called"),
    [
        pytest.param(ATTENTION, (2, 216), (1, 12), id="the verbs of an attention"),
        pytest.param(ONE_MECHANISM, (9, 1902), (25, 501), id="attention, decoder, loss, step"),
        pytest.param(MOCHA, (11, 2054), (27, 510), id="attention=mocha in training"),
        pytest.param(BEAM, (8, 1234), (23, 740), id="a beam decode"),
        pytest.param(COMMAND, (12, 2094), (46, 2037), id="from the command on"),
    ],
)
def test_the_readers_path_is_short(named: tuple[str, ...], read: tuple[int, int], called: tuple[int, int]) -> None:
    """read, called: the most files and lines that one reads as a whole, and of which one reads what is called."""
    for files, (most_files, most_lines) in zip(path_of(named), (read, called), strict=True):
        assert len(files) <= most_files, files
        assert sum(files.values()) <= most_lines, files


def test_a_path_has_bases_and_what_is_called() -> None:
    read, called = path_of(["mt/models/attention/mocha.py"])
    assert {*read} == {f"mt/{name}.py" for name in ("models/attention/mocha", "models/attention/monotonic")} | {
        f"mt/{name}.py" for name in ("models/attention/base", "models/opt_in", "common/options")
    }
    assert called["mt/ops/chunkwise.py"] > 10, "by way of a package"
    assert called["mt/models/attention/energy.py"] > 10
    assert "mt/models/encoders/base.py" not in called, "what a signature names is not opened"
    assert called["mt/ops/chunkwise.py"] < len((ROOT / "mt/ops/chunkwise.py").read_text(encoding="utf-8").splitlines())
    assert "mt/kernels/hard_step.py" in path_of(["mt/models/attention/monotonic.py"])[1], "of a module"
    assert "mt/models/encoders/__init__.py" in path_of(["mt/models/seq2seq.py"])[1], "out of a table"
