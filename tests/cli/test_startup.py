"""What an entry point does before its modules load: threads of OpenMP wait without spinning for long."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mt.cli.startup import OPENMP, spinning_bound
from tests.marks import exhaustive

ROOT = Path(__file__).parents[2]
LIBRARY = Path(torch.__file__).parent / "lib" / "libgomp.so.1"


@pytest.mark.parametrize(
    ("environment", "bound"),
    [
        ({}, {"GOMP_SPINCOUNT": "1000"}),
        ({"OMP_NUM_THREADS": "2"}, {"GOMP_SPINCOUNT": "1000"}),
        ({"GOMP_SPINCOUNT": "infinity"}, {}),
        ({"OMP_WAIT_POLICY": "active"}, {}),
        ({"KMP_BLOCKTIME": "0"}, {}),
    ],
)
def test_what_the_environment_says_of_waiting_stays(environment: dict[str, str], bound: dict[str, str]) -> None:
    assert spinning_bound(environment) == bound


@pytest.mark.skipif(not LIBRARY.exists(), reason="this torch brings no OpenMP of GNU's")
@pytest.mark.parametrize(
    ("command", "spins"),
    [
        (["-m", "mt", "translate", "nowhere"], "1000"),
        *exhaustive(
            (["-c", "import mt.cli.train, mt.decoding.load, mt.__main__, torch"], "300000"),
            (["scripts/benchmark.py", "nothing"], "1000"),
        ),
    ],
)
def test_openmp_reads_the_bound_of_a_command_and_none_of_an_import(command: list[str], spins: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not OPENMP.fullmatch(name)}
    environment |= {"OMP_DISPLAY_ENV": "verbose", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert set(re.findall(r"GOMP_SPINCOUNT = '(\w+)'", done.stderr)) == {spins}


def test_tests_wait_so_too() -> None:
    assert any(map(OPENMP.fullmatch, os.environ))
