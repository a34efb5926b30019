"""The mean of chosen checkpoints is a checkpoint."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import mt
from mt import checkpoint
from mt.evaluation.report import origin
from mt.training.run import Run
from mt.training.saving import average_checkpoints
from mt.training.train import train


@pytest.fixture
def kept(start: Callable[..., Run]) -> Run:
    run = start({"training": {"max_updates": 3, "validate_every": 1, "average_checkpoints": 3, "plots": 0}})
    train(run)
    run.close()
    return run


def test_it_is_the_mean_and_loads(kept: Run, tmp_path: Path) -> None:
    chosen = [kept.checkpoints / f"update-000000{update}" for update in (3, 1)]
    assert average_checkpoints(chosen, tmp_path / "mean") == [1, 3]
    result, *states = (load_file(folder / checkpoint.MODEL) for folder in (tmp_path / "mean", *chosen))
    for name, tensor in result.items():
        torch.testing.assert_close(tensor, (states[0][name] + states[1][name]) / 2)
    translator = mt.load(tmp_path / "mean", device="cpu")
    assert translator.translate("two dogs find bridges").tokens
    assert origin(tmp_path / "mean", "best") == {"name": "average", "update": 3, "averaged": [1, 3]}
    assert json.loads((tmp_path / "mean/meta.json").read_text())["corpus"] == kept.corpus.meta["fingerprint"]
