"""That the benchmarks run; what they measure is not for tests."""

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mt.data.batches import Batch, collate
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig
from tests.decoding.decoded import decode_ids

sys.path.append(str(Path(__file__).parents[2] / "scripts"))
from benchmarks import BENCHMARKS
from benchmarks.model import configure
from benchmarks.online import exponent_of_longest
from benchmarks.plain import Plain, plain_of

SCRIPTS = Path(__file__).parents[2] / "scripts"
Run = Callable[..., list[str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a benchmark in this process, and returns the lines that it prints."""
    threads = torch.get_num_threads()

    def lines(name: str, *arguments: str) -> list[str]:
        BENCHMARKS[name](arguments)
        torch.set_num_threads(threads)
        return capsys.readouterr().out.splitlines()

    return lines


@pytest.mark.slow
def test_online():
    # As a command: thousands of small steps take three times as long where all shapes are checked.
    small = ("--lengths", "10", "40", "33", "--size", "8", "--vocabulary", "20", "--rounds", "2")
    command = [sys.executable, SCRIPTS / "benchmark.py", "online", *small, "--json"]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    # A pointer that moves on by one position a step looks at that where it was, and at the next.
    for part in ("attention_at_once", "concat_at_once", "decoder"):
        for name, energies in (("softmax", [100, 1089, 1600]), ("monotonic", [19, 65, 79]), ("mocha_8", [19, 65, 79])):
            times = rows[f"{part}, {name}: ms"]
            assert [*times] == ["10", "33", "40", "exponent"] and min([*times.values()][:3]) > 0
            assert [*rows[f"{part}, {name}: energies"].values()] == energies
    assert {*rows["decoder, softmax beside softmax"].values()} == {1}
    assert {*rows["attention_at_once, torch beside torch"].values()} == {1}


def test_an_exponent_is_that_of_the_longest():
    lengths = [1, 2, 100, 200, 400]
    seconds = [1e4, 1e4, *(length**2 for length in lengths[2:])]
    assert exponent_of_longest(lengths, seconds) == pytest.approx(2)


@pytest.mark.slow
def test_train(run: Run):
    result = json.loads("\n".join(run("train", "--size", "8", "--rounds", "1", "--ssru", "--json")))
    rows = ["input_feeding_bf16", "input_feeding_fp32", "bf16", "fp32", "ssru_bf16", "ssru_fp32"]
    assert list(result) == rows
    assert all(list(row) == ["ratio", "tokens_per_second", "peak_mb"] for row in result.values())
    assert all(value > 0 for row in result.values() for value in row.values())


@pytest.mark.slow
def test_decode(run: Run):
    result = json.loads("\n".join(run("decode", "--size", "8", "--rounds", "1", "--updates", "2", "--json")))
    assert list(result) == ["beam5_batch", "beam5_single", "greedy_batch", "greedy_single"]
    for row in result.values():
        ratios = [value for name, value in row.items() if name.endswith("_ratio")]
        assert row["ratio"] == max(ratios) and row["tokens_per_second"] > 0


@pytest.mark.slow
def test_stream(run: Run):
    first, columns, row = run("stream", "--words", "40", "--attentions", "mocha")
    assert first.endswith(" threads, medians of one round") and columns.split()[:2] == ["word", "ms"]
    assert re.fullmatch(r"mocha( +[\d.,]+){7}", row)


def test_a_name_that_is_none(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "argv", ["benchmark.py", "decoed"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SCRIPTS / "benchmark.py"), run_name="__main__")
    assert ended.value.code == 2
    sentence = "error: benchmark decoed is an invalid choice: did you mean decode? choices: "
    assert capsys.readouterr().err.startswith(sentence)


# The plain loop that speeds are compared with computes what `mt` computes.

LENGTHS = [3, 7, 5, 1]


@pytest.fixture
def model() -> Seq2Seq:
    torch.manual_seed(3)
    made = Seq2Seq(configure("input_feeding", "fp32", 8), 20, 20).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(4)  # sharp enough that hypotheses differ in length
    return made


@pytest.fixture
def sources() -> list[np.ndarray]:
    random = np.random.default_rng(1)
    return [np.append(random.integers(4, 20, length), 3) for length in LENGTHS]


@pytest.fixture
def batch(sources: list[np.ndarray]) -> Batch:
    return collate([(source, [*source[::-1][1:].tolist(), 3]) for source in sources])


def test_the_loss_and_its_gradient(model: Seq2Seq, batch: Batch) -> None:
    plain = plain_of(model)
    plain.eval()
    ours = model(batch).sum
    theirs = plain(batch)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-4)
    ours.backward(), theirs.backward()
    pairs = [
        (model.decoder.combine.weight, plain.combine.weight),
        (model.encoder.cells.weight_hh_l0_reverse, plain.encoder.weight_hh_l0_reverse),
        (model.decoder.recurrence.cells.weight_ih_l0, plain.cell.weight_ih),
        (model.decoder.embedding.table.weight, plain.target.weight),
    ]
    for own, other in pairs:
        torch.testing.assert_close(own.grad, other.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("search", [GreedyConfig(), BeamConfig(beam_size=3)], ids=["greedy", "beam"])
def test_the_hypotheses_and_their_scores(model, batch, sources, search):
    plain: Plain = plain_of(model).eval()
    limits = torch.tensor([search.longest(len(source)) for source in sources])
    if isinstance(search, BeamConfig):
        theirs = plain.beam(batch.source, batch.source_mask, limits, search.beam_size, search.length_penalty)
    else:
        theirs = plain.greedy(batch.source, batch.source_mask, limits)
    ours = [best[0] for best in decode_ids(model, sources, search, vocab_size=20, precision="fp32")]
    assert [list(one.tokens) for one in ours] == [one.tokens for one in theirs]
    assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], rel=1e-5)
