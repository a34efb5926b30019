"""Samples, and hypotheses chosen by their expected utility, on the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import mt
from mt.search.config import SampleConfig

SOURCES = ["the big cats see two green houses", "two dogs find bridges", "zzz cats", ""]
OPTIONS = ("--search", "sample", "--samples", 12, "--utility", "chrf")


def test_translate(call: Callable, trained: Path) -> None:
    lines = "".join(f"{source}\n" for source in SOURCES)
    options = (*OPTIONS, "--n-best", 3)
    done = call("translate", trained, *options, stdin=lines)
    search = SampleConfig(samples=12, utility="chrf", n_best=3)
    expected = mt.load(trained, device="cpu").n_best(SOURCES, search=search)
    rows = [(number, one) for number, of_source in enumerate(expected) for one in of_source]
    assert done.out == "".join(f"{number} ||| {one.text} ||| {one.score:.4f}\n" for number, one in rows)
    assert call("translate", trained, *options, "--buffer-size", 1, stdin=lines).out == done.out
    assert call("translate", trained, *options, "--seed", 2, "--temperature", 2, stdin=lines).out != done.out


def test_evaluate(call: Callable, trained: Path, corpora: Path, tmp_path: Path) -> None:
    done = call("evaluate", trained, *OPTIONS, "--corpora", corpora, "--out", tmp_path)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("test: sample search, samples 12, utility chrf, soft attention, average of ")
    results = json.loads((tmp_path / "results.json").read_text())
    assert (results["search"]["name"], results["search"]["utility"]) == ("sample", "chrf")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--search", "greedy", "--utility", "chrf"], "--utility is an option of --search sample or beam, and not of"),
        (["--samples", 3], "--samples is an option of --search sample, and not of this run, which is decoded by beam"),
        (
            ["--search", "sample", "--n-best", 2],
            "--n-best 2 asks for more hypotheses than are drawn (1): set --samples 2",
        ),
        (
            ["--search", "sample", "--temperature", 0],
            "--temperature 0.0 is not possible: input should be greater than 0",
        ),
        (["--utility", "ter"], "--utility ter is an invalid choice"),
    ],
)
def test_refusals(call: Callable, trained: Path, arguments: list, sentence: str) -> None:
    done = call("translate", trained, *arguments, stdin="two\n")
    assert done.status == 2 and done.err.startswith(f"error: {sentence}") and done.err.count("\n") == 1
