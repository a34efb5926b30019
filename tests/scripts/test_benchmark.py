"""That the benchmarks run; what they measure is not for tests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "benchmark.py"


def lines(*arguments: str) -> list[str]:
    command = [sys.executable, str(SCRIPT), *arguments, "--rounds", "2"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_ops():
    first, shape, *rows = lines("ops", "--shape", "2", "3", "8")
    assert "medians of 2 rounds" in first
    assert shape == "(2, 3, 8):"
    names = ("clipped", "wavefront", "expected_alignment")
    for name, row in zip(names, rows, strict=True):
        assert re.fullmatch(rf" +{name}: \d+\.\d\d ms, \d+\.\d\d times as fast, largest error \d\.\de-\d\d", row)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_additive():
    _, shape, *rows = lines("additive", "--shape", "8", "32", "64", "128")
    assert shape == "(8, 32, 64, 128):"
    for name, row in zip(("plain", "additive_energy"), rows, strict=True):
        assert re.fullmatch(rf" +{name}: .* times as fast, peak \d+ MiB, .* of the first", row)


def test_stream():
    command = [sys.executable, str(SCRIPT), "stream", "--words", "40", "--attentions", "mocha"]
    first, _, row, _ = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert first.startswith("40 words; milliseconds a word, and numbers kept")
    assert re.fullmatch(r" +mocha( +[\d.,]+){8}", row)
