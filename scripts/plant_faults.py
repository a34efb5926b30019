"""Plants faults in a copy of the code, one at a time, and says which tests see each: the short command of README, only
the run of all tests (`-m ""`), or neither.

    python scripts/plant_faults.py [--only TEXT ...] [--short] [--processes 2]

The faults stand in tests/faults.toml. Tests of a fault's neighbourhood run first, then the others, each run up to its
first failure. The command fails where the short run sees less than 95 % of what is seen, or a fault is seen by nothing.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mt.cli.parser import Parser, whole_number
from mt.errors import UserError, reported

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests" / "faults.toml"
CODE = ("mt", "data_prep")
COPIED = (
    *CODE,
    "conf",
    "docs",
    "scripts",
    "tests",
    "train.py",
    "setup.py",
    "pyproject.toml",
    "CITATION.cff",
    "LICENSE",
)
WANTED = 0.95
"""The share of the faults that are seen at all which the short run must see."""
SECONDS = 3600
"""The most time of a run of tests, after which a fault counts as seen, since it keeps something from ending."""
SHORT = "short"
LONG = "only the long run"
NEITHER = "neither"


class Fault(NamedTuple):
    name: str
    old: str
    """Text that stands exactly once in the code."""
    new: str
    tests: list[str]
    """The ends of the paths of test files that see it first, without `.py`."""

    def file(self, root: Path) -> Path:
        """Returns the file to change. Raises UserError where the old text is not there exactly once."""
        paths = [path for folder in CODE for path in sorted((root / folder).rglob("*.py"))]
        counts = {path: path.read_text(encoding="utf-8").count(self.old) for path in paths}
        paths = [path for path, count in counts.items() if count]
        if sum(counts.values()) != 1:
            files = ", ".join(str(path.relative_to(root)) for path in paths) or "no file"
            raise UserError(
                f"{TABLE.name}, {self.name}: its old text must stand exactly once in the code, and stands in {files}: "
                "choose text that is there, and that makes the same fault"
            )
        return paths[0]

    def neighbourhood(self, root: Path) -> list[Path]:
        """Returns the test files that see it first. Raises UserError where there are none of a name."""
        paths = sorted((root / "tests").rglob("test_*.py"))
        chosen = {name: [path for path in paths if f"{path}".endswith(f"/{name}.py")] for name in self.tests}
        for name, files in chosen.items():
            if not files:
                raise UserError(f"{TABLE.name}, {self.name}: there is no test file {name}.py")
        return [path for files in chosen.values() for path in files]


def read_table(path: Path) -> list[Fault]:
    return [Fault(**record) for record in tomllib.loads(path.read_text(encoding="utf-8"))["fault"]]


class Planted:
    """A fault in a copy of the code, for as long as the context lasts."""

    def __init__(self, fault: Fault, copy: Path) -> None:
        self.fault = fault
        self.path = fault.file(copy)
        self.text = self.path.read_text(encoding="utf-8")
        self.time = self.path.stat().st_mtime

    def __enter__(self) -> None:
        self._write(self.text.replace(self.fault.old, self.fault.new), self.time + 10)

    def __exit__(self, *_: object) -> None:
        self._write(self.text, self.time)

    def _write(self, text: str, time: float) -> None:
        self.path.write_text(text, encoding="utf-8")
        # A time of its own, by which Python and numba know that what they have compiled is of another text.
        os.utime(self.path, (time, time))


def first_failure(copy: Path, tests: Sequence[Path], *options: str) -> str | None:
    """Runs tests in the copy up to the first failure, and returns its name; None where all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", "-rfE", *options]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    process = subprocess.Popen(
        [*command, *(str(path.relative_to(copy)) for path in tests)],
        cwd=copy, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"did not end within {SECONDS} seconds"
    if process.returncode in (0, 5):  # 5: the file has only exhaustive tests
        return None
    named = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    return named[1] if named else "\n".join(output.splitlines()[-3:])


def rounds(fault: Fault, copy: Path, *, short: bool, processes: int) -> Iterator[tuple[str, list[Path], list[str]]]:
    """Yields the runs of tests for a fault, in order: who sees the fault if a test fails, test files, and options."""
    near = fault.neighbourhood(copy)
    parallel = ["-n", str(processes)] if processes > 1 else ["-n", "0"]
    everything = [copy / "tests"]
    yield SHORT, near, ["-n", "0"]
    yield SHORT, everything, parallel
    if not short:
        yield LONG, near, ["-n", "0", "-m", "exhaustive"]
        yield LONG, everything, [*parallel, "-m", "exhaustive"]


def copy_of_the_code(folder: Path) -> Path:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    for path in ROOT.glob("*.md"):
        shutil.copy(path, folder / path.name)
    return folder


def plant(fault: Fault, copy: Path, *, short: bool, processes: int) -> str:
    """Plants a fault, prints a line, and returns who sees it."""
    with Planted(fault, copy):
        for seen_by, tests, options in rounds(fault, copy, short=short, processes=processes):
            if failure := first_failure(copy, tests, *options):
                print(f"{seen_by:18} {fault.name}: {failure}", flush=True)
                return seen_by
    print(f"{NEITHER:18} {fault.name}", flush=True)
    return NEITHER


def require_green(copy: Path, faults: Sequence[Fault]) -> None:
    """Raises UserError where a test of the neighbourhoods fails without any fault."""
    tests = sorted({path for fault in faults for path in fault.neighbourhood(copy)})
    if failure := first_failure(copy, tests, "-n", "0"):
        raise UserError(f"a test fails without any fault, so that it shows none: {failure}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="faults whose names have one of these texts")
    parser.add_argument("--short", action="store_true", help="leave out the run of all tests")
    parser.add_argument("--processes", type=whole_number(1, 1000), default=1, metavar="N", help="of the longer runs")
    options = parser.parse_args(arguments)
    with reported(), tempfile.TemporaryDirectory(prefix="faults-") as folder:
        copy = copy_of_the_code(Path(folder))
        faults = [fault for fault in read_table(TABLE) if any(text in fault.name for text in options.only or [""])]
        if not faults:
            raise UserError(f"no fault of {TABLE.name} has a name with {' or '.join(options.only)}: see that file")
        for fault in faults:
            fault.file(copy)
        require_green(copy, faults)
        counts = Counter(plant(fault, copy, short=options.short, processes=options.processes) for fault in faults)
        seen = counts[SHORT] + counts[LONG]
        share = counts[SHORT] / max(seen, 1)
        print(f"{len(faults)} faults: {', '.join(f'{counts[name]} {name}' for name in (SHORT, LONG, NEITHER))}")
        print(f"the short run sees {share:.1%} of those that are seen")
        if counts[NEITHER] or share < WANTED:
            sys.exit(1)


if __name__ == "__main__":
    main()
