"""`resume=auto`: the same command begins a run, and goes on with it after a queue took its machine away."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from mt import checkpoint
from mt.cli.training import train
from mt.config import Config
from mt.distributed import ALONE
from mt.errors import Preempted, UserError
from mt.training.start import begin
from mt.training.train import train_and_test
from tests.training.runs import left, logged
from tests.training.test_signals import replace


@pytest.fixture
def command(configure: Callable[..., Config], corpora: Path, tmp_path: Path, monkeypatch) -> Callable[..., Path]:
    """Calls `train.py resume=auto folder=run ...`; gives the folder."""
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "corpora").symlink_to(corpora)
    monkeypatch.chdir(tmp_path)

    def called(changes: dict[str, Any] | None = None, folder: str = "run", resume: str | None = "auto") -> Path:
        options = {"max_updates": 6, "validate_every": 3, "average_checkpoints": 1, "plots": 0, "log_every": 1}
        small = {"training": options, "embedding": {"embedding_dim": 32, "dropout": 0.2}, "search": {"name": "greedy"}}
        config = configure(small | (changes or {})).model_dump(mode="json")
        best = train(config | {"resume": resume, "corpora": "outputs/corpora"}, [], Path(folder), ALONE)
        assert best == max(line["bleu"] for line in logged(tmp_path / folder, "dev"))
        return tmp_path / folder

    return called


@pytest.mark.usefixtures("foreground")
def test_one_command_begins_goes_on_and_ends(command: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    straight = command(folder="straight", resume=None)
    for where, at in (("update", 2), ("validation", 1), ("update", 2), ("test", 1)):
        with monkeypatch.context() as patch, pytest.raises(Preempted):
            replace(patch, where, at, lambda: [os.kill(os.getpid(), signal.SIGTERM) for _ in range(10)])
            command()
    run = command()
    assert left(run) == left(straight)
    assert not [path for path in run.rglob("*") if path.name.endswith((".part", ".draft", ".old", ".lock"))]
    before = left(command())  # a run that has ended is tested again
    assert before == left(straight)


def test_a_start_that_saved_nothing_is_begun_again_in_its_folder(command, monkeypatch, tmp_path):
    def die(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(torch.nn.utils, "clip_grad_norm_", die)
        command()
    assert (tmp_path / "run" / "run.json").is_file() and checkpoint.newest(tmp_path / "run") is None
    draft = tmp_path / "run" / "checkpoints" / ".update-0000001.part"
    draft.mkdir(parents=True)
    run = command()
    assert left(run) == left(command(folder="straight", resume=None))
    assert not draft.exists() and not (tmp_path / "run-2").exists()


def test_another_configuration_is_refused(command: Callable[..., Path]) -> None:
    command()
    with pytest.raises(UserError, match=r"^run was trained with seed=1, and seed=2 would be another run: leave it as "):
        command({"seed": 2})


def test_a_second_process_is_refused_and_the_first_goes_on(configure, corpus, tmp_path):
    config = configure({"training": {"max_updates": 2, "plots": 0}})
    first = begin(config, corpus, tmp_path / "run")
    with pytest.raises(UserError, match=r"^another process trains in .*run: wait for its end, or start a new run$"):
        begin(config, corpus, tmp_path / "run")
    train_and_test(first)
    with pytest.raises(UserError, match=r"^.*run holds a run already: give another folder=, or go on with it"):
        begin(config, corpus, tmp_path / "run")
    assert not (tmp_path / "run" / ".lock").exists()
