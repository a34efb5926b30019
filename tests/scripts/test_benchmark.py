"""That the benchmarks run; what they measure is not for tests."""

import json
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


def test_online(tmp_path: Path):
    small = ("--lengths", "10", "40", "33", "--size", "8", "--vocabulary", "20")
    found = json.loads("\n".join(lines("online", *small, "--json", "--plot", str(tmp_path / "speedup.png"))))
    assert (tmp_path / "speedup.png").read_bytes().startswith(b"\x89PNG")
    assert list(found) == ["softmax", "monotonic", "mocha_2", "mocha_4", "mocha_8"]
    for name, own in found.items():
        assert own["lengths"] == [10, 33, 40] and own["fitted"] == [10, 40]
        assert len(own["seconds"]) == len(own["decoder_seconds"]) == 3 and min(own["decoder_seconds"]) > 0
        assert all(isinstance(own[key], float) for key in ("exponent", "decoder_exponent"))
        # A pointer that moves on by one position a step: in blocks of 16, of which the last are cut by the end.
        assert own["energies"] == ([100, 1089, 1600] if name == "softmax" else [64, 423, 535])
    assert found["softmax"]["speedup"] == [1, 1, 1]


def test_online_prints_tables():
    heading, names, *rows = lines("online", "--lengths", "10", "20", "--size", "4", "--vocabulary", "8")
    assert heading == "attention alone: ms a sentence (times as fast as softmax)"
    assert names.split() == ["S", "=", "T", "softmax", "monotonic", "mocha_2", "mocha_4", "mocha_8"]
    assert re.fullmatch(r" +10( +\d+\.\d\d \(\d+\.\d\d\)){5}", rows[0])
    assert rows[2].split()[0] == "exponent" and len(rows[2].split()) == 6
    assert rows[-1] == "exponents are fitted to lengths 10 to 20"


def test_growth():
    found = json.loads("\n".join(lines("growth", "--size", "8", "--json")))
    groups = {name.rpartition(" ")[0]: row for name, row in found.items()}
    assert list(groups) == [
        "training, tokens of a batch", "training, length", "decoding, beam", "decoding, length", "memory, source",
    ]  # fmt: skip
    assert all("exponent" in last for last in groups.values())
    assert all(row.get("tokens_per_second", 1) > 0 and row.get("peak_mb", 0) >= 0 for row in found.values())


def test_stream():
    command = [sys.executable, str(SCRIPT), "stream", "--words", "40", "--attentions", "mocha"]
    first, _, row, _ = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert first.startswith("40 words; milliseconds a word, and numbers kept")
    assert re.fullmatch(r" +mocha( +[\d.,]+){8}", row)
