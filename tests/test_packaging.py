"""The wheel without the repository: it has the configuration files, and its commands run in an empty folder."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import mt
from mt.common import about

ROOT = Path(__file__).parents[1]
SOURCES = ["mt", "data_prep", "conf", "scripts", "pyproject.toml", "setup.py", "README.md", "LICENSE"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
COMMANDS = PROJECT["scripts"]
# Torch brings the one, and the other loads us.
NOT_OURS = {"triton", "simuleval"}
# One process for all, since most of the time goes into loading torch.
HELP = """
import contextlib, io, sys
from importlib.metadata import entry_points
for command in entry_points(group="console_scripts"):
    if command.dist.name == "attentive-mt":
        sys.argv, output = [command.name, "--help"], io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
            command.load()()
        print(command.name, len(output.getvalue()) > 200)
print(sys.modules["mt"].__file__)
"""


def pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    clone = folder / "clone"  # since building leaves files behind
    clone.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, clone / name)
    pip("wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder, clone)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def site(wheel: Path) -> Path:
    """A folder that the wheel is installed in."""
    pip("install", "--no-deps", "--no-index", "--no-compile", "--target", wheel.parent / "site", wheel)
    return wheel.parent / "site"


def called(site: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100)


def test_it_has_every_module_and_every_configuration_file(wheel: Path):
    actual = set(zipfile.ZipFile(wheel).namelist())
    modules = (ROOT / "mt").rglob("*.py")
    expected = {"mt/py.typed", *(path.relative_to(ROOT).as_posix() for path in modules)}
    for part in ("conf", "scripts", "data_prep"):
        files = [path for ending in ("yaml", "py", "txt") for path in (ROOT / part).rglob(f"*.{ending}")]
        expected |= {f"mt/{path.relative_to(ROOT).as_posix()}" for path in files}
    assert {name for name in actual if ".dist-info/" not in name} == expected


def test_its_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {mt.__version__}\n" in citation
    assert (about.VERSION, PROJECT["name"]) == (mt.__version__, about.DISTRIBUTION)


def imports(path: Path) -> set[str]:
    """The top-level packages that a module imports, wherever in it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in names}


def declared(*extras: str) -> set[str]:
    """The distributions that the core, or these extras, ask for."""
    lines = [line for extra in extras for line in PROJECT["optional-dependencies"][extra]]
    return {re.split(r"[^\w-]", line)[0].lower() for line in lines or PROJECT["dependencies"]}


def test_all_that_is_imported_is_declared():
    files = [path for part in ("mt", "data_prep") for path in (ROOT / part).rglob("*.py")]
    imported = {name for path in files for name in imports(path)}
    imported -= {*sys.stdlib_module_names, *NOT_OURS, "mt", "data_prep"}
    owners = {
        name: {one.lower().replace("_", "-") for one in found} for name, found in packages_distributions().items()
    }
    known = declared() | declared(*(extra for extra in PROJECT["optional-dependencies"] if extra != "test"))
    needed = {name: owners.get(name, {name.replace("_", "-")}) for name in imported}
    assert {name: owner for name, owner in needed.items() if not owner & known} == {}


def test_all_is_under_names_of_its_own(site: Path):
    assert {path.name for path in site.iterdir()} == {"mt", "bin", f"attentive_mt-{mt.__version__}.dist-info"}
    assert {path.name for path in (site / "bin").iterdir()} == set(COMMANDS)


def test_every_command_has_its_help(site: Path, tmp_path: Path):
    done = called(site, tmp_path, sys.executable, "-c", HELP)
    assert done.returncode == 0, done.stderr
    *commands, package = done.stdout.splitlines()
    assert sorted(commands) == [f"{name} True" for name in sorted(COMMANDS)]
    assert package == str(site / "mt" / "__init__.py")


@pytest.mark.exhaustive
def test_it_prepares_from_an_empty_folder(site: Path, tmp_path: Path):
    done = called(site, tmp_path, sys.executable, str(site / "bin" / "mt-prepare"), "dataset.limit=300", "dry_run=true")
    assert (done.returncode, list(tmp_path.iterdir())) == (0, []), done.stderr
    assert done.stdout.startswith("train: ")


def test_it_finds_no_choice_but_its_own(site: Path, tmp_path: Path):
    done = called(site, tmp_path, sys.executable, str(site / "bin" / "mt-train"), "attention=mocah")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: attention=mocah is an invalid choice: did you mean mocha? choices: ")
