"""The wheel without the repository: it has the configuration files, and its commands run in an empty folder."""

import ast
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

import mt
from mt.common import about
from mt.search.config import BeamConfig

ROOT = Path(__file__).parents[1]
SOURCES = ["mt", "data_prep", "conf", "pyproject.toml", "setup.py", "README.md", "LICENSE"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
COMMANDS = PROJECT["scripts"]
# Torch brings it.
NOT_OURS = {"triton"}
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


def test_it_has_every_module_and_every_configuration_file_and_nothing_else(wheel: Path):
    actual = set(zipfile.ZipFile(wheel).namelist())
    modules = [*(ROOT / "mt").rglob("*.py"), *(ROOT / "data_prep").rglob("*.py"), *(ROOT / "data_prep").rglob("*.txt")]
    modules += [ROOT / "data_prep" / "public.json", *(ROOT / "mt").rglob("*.txt"), *(ROOT / "mt").rglob("*.html")]
    modules += [path for ending in ("js", "css") for path in (ROOT / "mt" / "explorer").glob(f"*.{ending}")]
    expected = {"mt/py.typed", *(path.relative_to(ROOT).as_posix() for path in modules)}
    expected |= {f"mt/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "conf").rglob("*.yaml")}
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
    installed = packages_distributions().items()
    owners = {name: {one.lower().replace("_", "-") for one in found} for name, found in installed}
    known = declared() | declared(*(extra for extra in PROJECT["optional-dependencies"] if extra != "test"))
    needed = {name: owners.get(name, {name.replace("_", "-")}) for name in imported}
    assert {name: owner for name, owner in needed.items() if not owner & known} == {}


@pytest.mark.slow
def test_every_command_has_its_help(site: Path, tmp_path: Path):
    done = called(site, tmp_path, sys.executable, "-c", HELP)
    assert done.returncode == 0, done.stderr
    *commands, package = done.stdout.splitlines()
    assert sorted(commands) == sorted(f"{name} True" for name in COMMANDS)
    assert package == str(site / "mt" / "__init__.py")


@pytest.mark.slow
def test_it_prepares_from_an_empty_folder(site: Path, tmp_path: Path):
    done = called(site, tmp_path, sys.executable, str(site / "bin" / "mt-prepare"), "dataset.limit=300", "dry_run=true")
    assert (done.returncode, list(tmp_path.iterdir())) == (0, []), done.stderr
    assert done.stdout.startswith("train: ")


# Refuses what no distribution of the core, or of those that it asks for, brings.
CORE = """
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
def needed(one):
    try:
        return [line for line in requires(one) or [] if "extra ==" not in line]
    except PackageNotFoundError:  # for another Python
        return []
def name(line):
    return __import__("re").split(r"[^\\w-]", line)[0].lower().replace("_", "-")
known, new = set(), {names}
while new:
    known |= new
    new = {{name(line) for one in new for line in needed(one)}} - known
class Refusing:
    owners = packages_distributions()
    def find_spec(self, module, path=None, target=None):
        owners = {{one.lower().replace("_", "-") for one in self.owners.get(module.partition(".")[0], ())}}
        if owners and not owners & {{*known, "mt", "attentive-mt"}}:
            raise ModuleNotFoundError(f"No module named {{module!r}}", name=module)
sys.meta_path.insert(0, Refusing())
from mt.__main__ import call
call(sys.argv[1], sys.argv[2:])
"""


def test_the_core_translates_by_onnx_without_the_rest(graphs: Path):
    command = [sys.executable, "-c", CORE.format(names=declared())]
    expected = mt.load(graphs, engine="onnx").translate("two cats", BeamConfig(beam_size=2))
    for verb in ("translate", "stream"):
        words = [*command, verb, str(graphs), "--engine", "onnx", "--beam", "2"]
        done = subprocess.run(words, input="two cats\n", capture_output=True, text=True, cwd=ROOT)
        assert (done.stderr, done.stdout) == ("", f"{expected.text}\n")
    done = subprocess.run([*command, "train"], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    sentence = r"error: mt train needs \w+, which is not installed: pip install 'attentive-mt\[train\]'\n"
    assert re.fullmatch(sentence, done.stderr)


# The steps of the Dockerfile where there is no Docker: the wheel, a user without rights, and no file written.

LINES = re.sub(r"\\\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8")).splitlines()
STEPS = [tuple(line.split(maxsplit=1)) for line in LINES if line and not line.startswith("#")]


def steps(name: str) -> list[str]:
    return [arguments for step, arguments in STEPS if step == name]


def test_a_container_copies_what_the_wheel_is_made_of():
    copied = [name for line in steps("COPY") if "--from" not in line for name in line.split()[:-1]]
    assert set(copied) == set(SOURCES)


def test_a_container_runs_as_a_user_without_rights():
    (user,) = steps("USER")
    assert int(user) > 1000
    order = [name for name, _ in STEPS]
    assert order.index("USER") > max(i for i, name in enumerate(order) if name == "RUN"), "nothing is run after it"
    assert f"--uid {user}" in steps("RUN")[-1]


def written(folder: Path) -> dict[Path, int]:
    """When each file was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.slow
def test_a_container_serves_and_writes_no_file(site: Path, trained: Path, tmp_path: Path):
    """It writes where the Dockerfile says that it may, and nowhere else."""
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    (environment,) = steps("ENV")
    given = dict(pair.split("=", 1) for pair in shlex.split(environment))
    assert all(path.startswith("/tmp") for path in given.values() if "/" in path)
    writable, elsewhere = tmp_path / "tmp", tmp_path / "elsewhere"
    writable.mkdir()
    elsewhere.mkdir()
    given = {name: value.replace("/tmp", str(writable)) for name, value in given.items()}
    (entry,) = steps("ENTRYPOINT")
    program, *words = json.loads(entry)
    command = [sys.executable, str(site / "bin" / program), *words, str(trained), "--port", "0"]
    before = [written(folder) for folder in (site, trained, elsewhere)]
    environ = {**os.environ, "PYTHONPATH": str(site), "TMPDIR": str(writable), **given}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environ, cwd=elsewhere, **pipes) as server:
        address = server.stdout.readline().split()[-1].replace("0.0.0.0", "127.0.0.1")
        body = b'{"q": "two cats", "source": "en", "target": "de"}'
        request = urllib.request.Request(f"{address}/translate", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert b"translatedText" in answer.read()
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
        assert "Traceback" not in server.stderr.read()
    assert [written(folder) for folder in (site, trained, elsewhere)] == before
