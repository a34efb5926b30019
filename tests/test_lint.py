"""The linters, and what no linter knows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.marks import exhaustive

ROOT = Path(__file__).parents[1]
# A path that exists on one machine alone.
LOCAL = re.compile(r"(?<![\w.~}])/(work|root|home|Users|mnt)/\w")


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "command", [["ruff", "check"], ["ruff", "format", "--check"], *exhaustive(["mypy"])], ids=" ".join
)
def test_is_clean(command: list[str]):
    run(*command)


def test_lint_catches_what_it_is_there_for(tmp_path: Path):
    (tmp_path / "new.py").write_text("import pickle\nimport torch\n\npickle.dumps(torch.load('x'), eval('y'))\n")
    with pytest.raises(AssertionError, match=r"(?s)pickle.*is banned.*torch\.load.*is banned.*S307"):
        run("ruff", "check", "--config", str(ROOT / "pyproject.toml"), str(tmp_path))


def listed(*options: str) -> list[str]:
    """What git lists of this clone."""
    done = subprocess.run(["git", "ls-files", "-z", *options], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("this is no clone")
    return done.stdout.split("\0")[:-1]


def tracked() -> list[Path]:
    names = listed("--cached", "--others", "--exclude-standard")
    return [path for name in names if (path := ROOT / name).is_file()]


def test_no_link_is_tracked():
    """A checkout would put a link in the place of an ignored folder of its name, and remove the folder."""
    assert [entry for entry in listed("--stage") if entry.startswith("120000")] == []


def test_no_file_names_a_place_on_one_machine():
    result = []
    for path in tracked():
        lines = path.read_bytes().decode(errors="replace").splitlines()
        result += [f"{path.relative_to(ROOT)}:{n}: {line}" for n, line in enumerate(lines, 1) if LOCAL.search(line)]
    assert result == []


@pytest.mark.parametrize("place", ["home", "root", "Users"])
def test_such_a_place_is_noticed(place: str):
    assert LOCAL.search(f'open("/{place}/me/data.txt")')
    assert not LOCAL.search(f"https://example.org/{place}/me")
