"""That the benchmarks run; what they measure is not for tests."""

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

SCRIPTS = Path(__file__).parents[2] / "scripts"
Run = Callable[..., list[str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a benchmark in this process, and returns the lines that it prints."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    threads = torch.get_num_threads()

    def lines(name: str, *arguments: str) -> list[str]:
        from benchmarks import BENCHMARKS

        BENCHMARKS[name](arguments)
        torch.set_num_threads(threads)
        return capsys.readouterr().out.splitlines()

    return lines


def test_ops(run: Run):
    first, shape, *rows = run("ops", "--rounds", "2", "--shape", "2", "3", "8")
    assert "medians of 2 rounds" in first
    assert shape == "(2, 3, 8):"
    names = ("clipped", "wavefront", "expected_alignment")
    for name, row in zip(names, rows, strict=True):
        assert re.fullmatch(rf" +{name}: \d+\.\d\d ms, \d+\.\d\d times as fast, largest error \d\.\de-\d\d", row)


def test_steering(run: Run, trained: Path, texts: Path):
    files = ("--source", str(texts / "dev.en"), "--target", str(texts / "dev.de"))
    rows = json.loads(run("steering", str(trained), *files, "--sentences", "4", "--rounds", "1", "--json")[0])
    assert [*rows] == ["free", "reference", "foreign", "avoid", "prefix"]
    assert all(row["met"] == 1 and row["ratio"] > 0 for row in rows.values())


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_additive(run: Run):
    _, shape, *rows = run("additive", "--rounds", "2", "--shape", "8", "32", "64", "128")
    assert shape == "(8, 32, 64, 128):"
    for name, row in zip(("plain", "additive_energy"), rows, strict=True):
        assert re.fullmatch(rf" +{name}: .* times as fast, peak \d+ MiB, .* of the first", row)


@pytest.mark.slow
def test_online(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # As a command: thousands of small steps take three times as long where all shapes are checked.
    small = ("--lengths", "10", "40", "33", "--size", "8", "--vocabulary", "20", "--rounds", "2")
    command = [sys.executable, SCRIPTS / "benchmark.py", "online", *small, "--json", "--plot", tmp_path / "speedup.png"]
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert (tmp_path / "speedup.png").read_bytes().startswith(b"\x89PNG")
    hard = ["monotonic", "mocha_2", "mocha_4", "mocha_8"]
    alone = ("attention", "concat", "attention_at_once", "concat_at_once")
    soft = {part: ["softmax", "torch", "compiled"] for part in alone} | {"decoder": ["softmax"]}
    assert {part: list(rows) for part, rows in result.items()} == {part: [*own, *hard] for part, own in soft.items()}
    for part, rows in result.items():
        baselines = soft[part][1:] or ["softmax"]
        for name, own in rows.items():
            assert own["lengths"] == [10, 33, 40] and own["fitted"] == [10, 40]
            assert len(own["seconds"]) == 3 and min(own["seconds"]) > 0 and isinstance(own["exponent"], float)
            # A pointer that moves on by one position a step looks at that where it was, and at the next.
            assert own["energies"] == ([19, 65, 79] if name in hard else [100, 1089, 1600])
            assert list(own["speedup"]) == baselines
        assert all(rows[name]["speedup"][name] == [1, 1, 1] for name in baselines)

    monkeypatch.syspath_prepend(str(SCRIPTS))
    from benchmarks.online import table

    heading, names, *rows = table(result, [10, 33, 40]).splitlines()
    assert heading.startswith("attention alone, dot products, step by step: ms a sentence (times as fast as torch and")
    assert names.split() == ["S", "=", "T", *soft["attention"], *hard]
    assert re.fullmatch(r" +10( +\d+\.\d\d \(\d+\.\d\d, \d+\.\d\d\)){7}", rows[0])
    assert rows[3].split()[0] == "exponent" and len(rows[3].split()) == 8
    assert rows[-1] == "exponents are fitted to lengths 10 to 40"


def test_growth(run: Run, monkeypatch: pytest.MonkeyPatch):
    from benchmarks import growth

    small = {"BATCHES": (50, 100), "LENGTHS": (5, 10), "BEAMS": (1, 2), "SOURCES": (10, 50), "BATCH_TOKENS": 50}
    for name, sizes in small.items():
        monkeypatch.setattr(growth, name, sizes)
    result = json.loads("\n".join(run("growth", "--size", "8", "--rounds", "1", "--json")))
    groups = {name.rpartition(" ")[0]: row for name, row in result.items()}
    assert list(groups) == [
        "training, tokens of a batch", "training, length", "decoding, beam", "decoding, length", "memory, source",
    ]  # fmt: skip
    assert all("exponent" in last for last in groups.values())
    assert all(row.get("tokens_per_second", 1) > 0 and row.get("peak_mb", 0) >= 0 for row in result.values())


@pytest.mark.slow
def test_train(run: Run):
    result = json.loads("\n".join(run("train", "--size", "8", "--rounds", "1", "--ssru", "--json")))
    rows = ["input_feeding_bf16", "input_feeding_fp32", "bf16", "fp32", "ssru_bf16", "ssru_fp32"]
    assert list(result) == rows
    assert all(list(row) == ["ratio", "tokens_per_second", "peak_mb"] for row in result.values())
    assert all(value > 0 for row in result.values() for value in row.values())


@pytest.mark.slow
def test_decode(run: Run):
    result = json.loads("\n".join(run("decode", "--size", "8", "--rounds", "1", "--updates", "2", "--ssru", "--json")))
    tasks = ["beam5_batch", "beam5_single", "greedy_batch", "greedy_single"]
    assert list(result) == [f"{model}{task}" for task in tasks for model in ("", "parallel_", "ssru_")]
    for row in result.values():
        ratios = [value for name, value in row.items() if name.endswith("_ratio")]
        assert row["ratio"] == max(ratios) and row["tokens_per_second"] > 0


def test_stream(run: Run):
    first, _, row, _ = run("stream", "--words", "40", "--attentions", "mocha")
    assert first.startswith("40 words; milliseconds, and numbers kept, of a first tenth")
    assert re.fullmatch(r" +mocha( +[\d.,]+){9}", row)


def test_a_name_that_is_none(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "argv", ["benchmark.py", "decoed"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SCRIPTS / "benchmark.py"), run_name="__main__")
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(
        "error: benchmark decoed is an invalid choice: did you mean decode? choices: "
    )
