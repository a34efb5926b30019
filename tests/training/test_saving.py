"""Optimizer, random state and progress of a checkpoint: those that fit are restored anywhere, others are refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import mt
from mt import checkpoint
from mt.errors import UserError
from mt.evaluation.report import origin
from mt.training import saving
from mt.training.loop import Progress
from mt.training.run import Run
from mt.training.saving import average_checkpoints
from mt.training.start import begin, resume
from tests.refusals.sentences import sign
from tests.training.runs import finished


def test_a_run_of_gpus_goes_on_without_any(run, last, configure, corpus, monkeypatch):
    """What a run on two GPUs leaves: their random states. Tensors on disk do not know where they were."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    states = [torch.full((16,), i, dtype=torch.uint8) for i in (1, 2)]
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: states)
    result = json.loads((last / "progress.json").read_text())
    made = saving.snapshot(Progress(**result["progress"]))
    assert made["random_cuda"] == ["01" * 16, "02" * 16]
    monkeypatch.undo()
    (last / "progress.json").write_text(json.dumps(made))
    sign(last)
    with monkeypatch.context() as none:
        none.setattr(torch.cuda, "is_available", lambda: False)
        none.setattr(torch.cuda, "device_count", lambda: 0)
        resume(configure(), corpus, run).close()

    # On a machine with one GPU the first state is its own.
    taken = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, device: taken.append((state.tolist(), device)))
    saving.restore_generators(last, saving.load_snapshot(last, "bleu"))
    assert taken == [([1] * 16, 0)]


# The mean of chosen checkpoints is a checkpoint.
@pytest.fixture
def kept(start: Callable[..., Run]) -> Run:
    return finished(start({"training": {"max_updates": 3, "validate_every": 1, "average_checkpoints": 3, "plots": 0}}))


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


def test_runs_of_other_initial_weights_are_not_averaged(kept, configure, tmp_path, capsys):
    options = {"max_updates": 1, "plots": 0, "average_checkpoints": 1}

    def trained(name: str, changes: dict[str, Any]) -> Path:
        plain = {"search": {"name": "greedy"}, "training": options} | changes
        run = finished(begin(configure(plain), kept.corpus, tmp_path / name))
        return run.folder / "checkpoints/last"

    other = trained("other", {"seed": 5})
    child = trained("child", {"seed": 5, "init_from": str(kept.folder)})
    with pytest.raises(UserError, match=rf"^{other} and {kept.folder} learnt from other initial weights"):
        average_checkpoints([kept.folder, other], tmp_path / "mean")
    assert not (tmp_path / "mean").exists()
    # One that goes on began at the same weights, and so did one that starts from it.
    before = checkpoint.load_meta((kept.checkpoints / "last").resolve()).initialisation
    changes = {"training": {"max_updates": 4, "validate_every": 1, "average_checkpoints": 3, "plots": 0}}
    finished(resume(configure({"search": {"name": "greedy"}} | changes), kept.corpus, kept.folder))
    assert checkpoint.load_meta((kept.checkpoints / "last").resolve()).initialisation == before is not None
    average_checkpoints([kept.folder, child], tmp_path / "of both")
    assert "!!!" not in capsys.readouterr().out
    # An average knows where it is from, too.
    with pytest.raises(UserError, match="learnt from other initial weights"):
        average_checkpoints([tmp_path / "of both", other], tmp_path / "mean")
    about = json.loads((other / "meta.json").read_text())
    del about["initialisation"]
    (other / "meta.json").write_text(json.dumps(about))
    average_checkpoints([kept.folder, other], tmp_path / "mean")
    assert "!!! a checkpoint of an earlier version does not say which weights it began with" in capsys.readouterr().out
