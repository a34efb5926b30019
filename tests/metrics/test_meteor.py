"""METEOR is that of its authors' program, by whose sums of counts corpora are scored and compared."""

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mt.errors import UserError
from mt.metrics.meteor import Meteor
from tests.metrics.usable import METEOR

CAPTIONS = ["a cat on a mat", "planes are here", "", "the the the the", "a dog, running!", "two planes"]
REFERENCES = [
    ["a cat sat on the mat", "the cat is here"],
    ["two planes"],
    ["some planes"],
    ["many green trees are around a pond"],
    ["the dog runs", "a running dog"],
    ["two planes"],
]
TOLD = [
    "5 6 3 3 2 2 2 2" + " 0" * 12 + " 3 4 4",
    "3 2 1 1 1 1 0 0" + " 0" * 12 + " 1 1 1",
    "0 2 0 1" + " 0" * 19,
]
"""What the program says of the first three."""
SCORES = [0.30029263599865547, 0.2696629213483146, 0.0]
"""What it makes of these."""
OF_TWO = 0.29300459383660976
"""And of the first two together."""

needs_java = pytest.mark.skipif(not METEOR, reason="needs Java and pycocoevalcap")


Program = Callable[[str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Stands in for Java and the package that has METEOR's program: sets the lines of a shell that are run instead."""
    package = tmp_path / "packages" / "pycocoevalcap"
    (package / "meteor").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "meteor" / "__init__.py").touch()
    monkeypatch.syspath_prepend(package.parent)
    for name in ("pycocoevalcap", "pycocoevalcap.meteor"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    monkeypatch.setenv("PATH", str(java.parent), prepend=os.pathsep)

    def runs(script: str) -> None:
        java.write_text(f"#!/bin/sh\n{script}\n")
        java.chmod(0o755)

    runs("exit 1")
    return runs


@pytest.fixture
def metric(program: Program) -> Meteor:
    return Meteor()


def test_scores_are_those_of_the_program(metric: Meteor) -> None:
    counts = np.array([[float(number) for number in line.split()] for line in TOLD])
    assert metric.score_of_sums(counts) == pytest.approx(100 * np.array(SCORES))
    assert metric.score_of_sums(counts[:2].sum(0)) == pytest.approx(100 * OF_TWO)


def test_a_caption_that_is_its_reference_pays_nothing_for_fragments(metric: Meteor, program: Program) -> None:
    rows = ([2, 2, 0, 0, 2, 2, *[0] * 14, 1, 2, 2], [2, 3, 0, 0, 2, 2, *[0] * 14, 1, 2, 2])
    answers = (" ".join(map(str, row)) for row in rows)
    program("cat > /dev/null\n" + "\n".join(f"echo {answer}" for answer in answers))
    counts = metric.counts(["two planes", "two planes"], [["two planes"], ["two planes here"]])["meteor"]
    assert counts[:, 20].tolist() == [0, 1]
    assert metric.score_of_sums(counts[0]) == pytest.approx(100)
    assert metric.score_of_sums(counts[1]) < 60


@pytest.mark.parametrize("missing", ["packages/pycocoevalcap", "bin/java"])
@pytest.mark.skipif(METEOR, reason="the real ones are here")
def test_what_is_missing_is_named(
    missing: str, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / missing).rename(tmp_path / "elsewhere")
    importlib.invalidate_caches()
    with pytest.raises(UserError, match=r"install Java and `pip install 'attentive-mt\[captions\]'`"):
        Meteor()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'no memory' >&2; exit 1", r"^METEOR's program failed \(no memory\)"),
        ("cat > /dev/null; echo 1 2 3", r"^METEOR's program answered 1 of 6 captions"),
    ],
)
def test_a_program_that_fails_is_reported(metric: Meteor, program: Program, script: str, message: str) -> None:
    program(script)
    with pytest.raises(UserError, match=message):
        metric.counts(CAPTIONS, REFERENCES)


@needs_java
def test_equals_pycocoevalcap() -> None:
    from pycocoevalcap.meteor.meteor import Meteor as Theirs

    from mt.metrics.captions import tokenize

    truths, captions = (
        {i: [" ".join(tokenize(text)) for text in texts] for i, texts in enumerate(given)}
        for given in (REFERENCES, [[text] for text in CAPTIONS])
    )
    theirs = Theirs()
    expected, each = theirs.compute_score(truths, captions)
    for pipe in (theirs.meteor_p.stdout, theirs.meteor_p.stderr):
        pipe.close()
    ours = Meteor()
    counts = ours.counts(CAPTIONS, REFERENCES)["meteor"]
    assert ours.score_of_sums(counts) == pytest.approx(100 * np.array(each), abs=1e-6)
    score = ours.score(CAPTIONS, REFERENCES)["meteor"]
    assert score.score == pytest.approx(100 * expected, abs=1e-6) and "meteor:1.5" in score.signature
    actual = ours.compare({"one": CAPTIONS, "other": CAPTIONS[::-1]}, REFERENCES)["meteor"]
    assert actual["one"].score == score.score > actual["other"].score
