"""Training in float16: runs that stop and go on, older ones, and decoding."""

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import mt
from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus
from mt.decoding.runs import torch_translator
from mt.search.config import GreedyConfig
from mt.training import loop
from mt.training.loop import LossScale, updates
from mt.training.run import Run
from mt.training.saving import save_unsaved
from mt.training.start import begin, resume
from mt.training.train import train, train_and_test
from tests.decoding.decoded import decode_ids
from tests.marks import exhaustive

CONSTANT = {"name": "adam", "lr": 0.01, "warmup": 0, "schedule": {"name": "constant"}}


def same(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(tensor, other[name]) for name, tensor in one.items())


OPTIONS = {
    "precision": "fp16",
    "embedding": {"embedding_dim": 32, "dropout": 0.2},
    "optimizer": CONSTANT,
    "training": {"max_updates": 12, "validate_every": 12, "average_checkpoints": 1, "plots": 0, "log_every": 1},
    "search": {"name": "greedy"},
}


def left(run: Run) -> tuple[dict, dict, list]:
    folder = run.folder / "checkpoints/last"
    progress = json.loads((folder / "progress.json").read_text())["progress"]
    lines = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    shown = [(line["update"], line["loss_scale"], line["loss"]) for line in lines if line["kind"] == "train"]
    tensors = {name: load_file(folder / name) for name in (checkpoint.MODEL, checkpoint.TRAINING)}
    return progress["loss_scale"], {key: t for each in tensors.values() for key, t in each.items()}, shown


@pytest.mark.parametrize("stop", [1, 9, *exhaustive(4)])
def test_a_run_goes_on_to_the_bit(
    stop: int,
    configure: Callable[..., Config],
    corpus: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Whether it stops while the scale still falls, or between two times that it rises."""
    monkeypatch.setattr(loop, "PATIENCE", 3)
    config = configure(OPTIONS)

    def begun(name: str) -> Run:
        run = begin(config, corpus, tmp_path / name)
        run.progress.loss_scale = LossScale(2.0**27)
        return run

    straight = begun("straight")
    train_and_test(straight)
    assert capfd.readouterr().out.count("update 1 was left out: float16 had no numbers for its gradient") == 1
    stopped = begun("stopped")
    taken = updates(stopped.model, stopped.optimizer, corpus.training, config, stopped.progress)
    assert len(list(itertools.islice(taken, stop))) == stop
    save_unsaved(stopped)
    stopped.close()
    again = resume(config, corpus, tmp_path / "stopped")
    train(again)
    again.close()
    assert "left out" not in capfd.readouterr().out
    (scale, tensors, shown) = left(straight)
    (scale_again, tensors_again, shown_again) = left(again)
    assert scale == scale_again and 1 < scale["left_out"] < 9
    assert any(one[1] < other[1] for one, other in itertools.pairwise(shown)), "it has risen"
    assert same(tensors, tensors_again)
    assert shown[stop:] == shown_again


def test_older_checkpoints_go_on(run: Path, last: Path, configure: Callable[..., Config], corpus: Corpus) -> None:
    result = json.loads((last / "progress.json").read_text())
    assert result["progress"].pop("loss_scale") is None
    (last / "progress.json").write_text(json.dumps(result))
    meta = json.loads((last / "meta.json").read_text())
    meta["sha256"]["progress.json"] = checkpoint.sha256(last / "progress.json")
    (last / "meta.json").write_text(json.dumps(meta))
    resumed = resume(configure(), corpus, run)
    assert resumed.progress.loss_scale is None
    resumed.close()


@pytest.mark.parametrize(
    "damage", [{"factor": 0.0}, {"factor": 1e30}, {"factor": float("nan")}, {"good": -1}, {"good": 2000}, {"more": 1}]
)
def test_a_scale_that_no_run_can_have(damage: dict[str, Any]) -> None:
    plain = asdict(LossScale()) | damage
    with pytest.raises((ValueError, TypeError)):
        LossScale(**plain)


def test_a_run_in_float16_decodes_on_a_cpu_in_float32(
    trained: Path, configure: Callable[..., Config], corpus: Corpus
) -> None:
    there = mt.load(trained, device="cpu")
    config = configure({"precision": "fp16"})
    assert torch_translator(there.model, there.tokenizers, config).network.precision == "fp32"
    assert torch_translator(there.model, there.tokenizers, config, precision="bf16").network.precision == "bf16"
    rows = [row.tolist() for row, _ in corpus.split("test").ids(range(10))]
    size = len(corpus.tokenizers.target)
    exact, near = (
        decode_ids(there.model, rows, GreedyConfig(), vocab_size=size, precision=precision)
        for precision in ("fp32", "fp16")
    )
    assert [one.tokens for (one,) in near] == [one.tokens for (one,) in exact]
    assert [one.score for (one,) in near] != [one.score for (one,) in exact]
