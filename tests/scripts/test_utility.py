"""Samples, and hypotheses chosen by their expected utility, on the command line."""

import json
from collections.abc import Callable
from pathlib import Path

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
