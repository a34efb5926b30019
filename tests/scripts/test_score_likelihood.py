"""`scripts/score.py --task likelihood`: log-probabilities of the lines of two files."""

import json
from pathlib import Path

import pytest

import mt

SOURCES = ["the big cats see two green houses", "two dogs find bridges"]


def pairs(source: object, target: object) -> list[object]:
    return ["--source", source, "--target", target]


@pytest.fixture
def files(trained: Path, tmp_path: Path) -> tuple[Path, Path]:
    """What a beam made of two sources."""
    result = mt.load(trained, device="cpu").translate(SOURCES)
    for name, lines in {"source": SOURCES, "target": [one.text for one in result]}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path / "source", tmp_path / "target"


def test_the_score_is_the_beam_s(call, trained: Path, files: tuple[Path, Path]) -> None:
    result = mt.load(trained, device="cpu").translate(SOURCES)
    done = call("score", "--task", "likelihood", "--device", "cpu", "--run", trained, *pairs(*files))
    rows = [line.split(" ||| ") for line in done.out.splitlines()]
    for (score, log_prob, pieces, each), one in zip(rows, result, strict=True):
        assert float(score) == pytest.approx(one.score, abs=1e-5) and tuple(pieces.split()) == one.tokens
        assert float(log_prob) == pytest.approx(sum(map(float, each.split())), abs=1e-5)
        assert float(score) == pytest.approx(float(log_prob) / ((5 + len(one.tokens)) / 6) ** 0.6, abs=1e-5)
    assert done.err.startswith(f"2 pairs, {sum(len(one.tokens) for one in result)} pieces: -")
    plain = call(
        "score", "--task", "likelihood", "--length-penalty", 0, "--json", "--run", trained, trained, *pairs(*files)
    )
    for line, (_, log_prob, _, each) in zip(map(json.loads, plain.out.splitlines()), rows, strict=True):
        assert line["score"] == line["log_prob"] == pytest.approx(float(log_prob), abs=1e-5)
        assert line["token_log_probs"] == pytest.approx([float(one) for one in each.split()], abs=1e-5)


def test_bad_input(call, trained: Path, files: tuple[Path, Path], tmp_path: Path) -> None:
    source, target = files
    (tmp_path / "short").write_text("eins\n")
    (tmp_path / "blank").write_text("zwei Hunde\n \n")
    for arguments, sentence in (
        (["--run", trained, *pairs(source, tmp_path / "short")], f"{source} has 2 lines but {tmp_path}/short has 1"),
        (
            ["--run", trained, *pairs(source, tmp_path / "blank")],
            f"{tmp_path}/blank, line 2 is blank, and a pair has two sides",
        ),
        (["--run", trained, *pairs(tmp_path / "blank", target)], f"{tmp_path}/blank, line 2 is blank"),
        (
            [trained, source, target],
            "--task likelihood takes a run, or several, and two files: write --run "
            f"{trained} --source {source} --target {target}",
        ),
        (["--run", tmp_path, *pairs(source, target)], "is not a run folder"),
        (["--length-penalty", -1, "--run", trained, *pairs(source, target)], "--length-penalty -1.0 is not possible"),
        (["--length-penalty", "nan", "--run", trained, *pairs(source, target)], "--length-penalty nan is not possible"),
        (
            ["--latency-unit", "char", "--run", trained, *pairs(source, target)],
            "--latency-unit is an option of --task simultaneous",
        ),
        (
            ["--metrics", "bleu", "--run", trained, *pairs(source, target)],
            "--metrics is about texts that are compared, which --task ",
        ),
        (
            ["--lead", 3, "--run", trained, *pairs(source, target)],
            "--lead is about texts that are compared, which --task likelihood ",
        ),
        (
            ["--no-stem", "--run", trained, *pairs(source, target)],
            "--no-stem is about texts that are compared, which --task likelihoo",
        ),
    ):
        done = call("score", "--task", "likelihood", *arguments)
        assert (done.out, done.status) == ("", 2) and sentence in done.err, sentence
    done = call("score", "--device", "cpu", source, target)
    assert "--device is an option of --task likelihood: leave it out, or add that" in done.err
