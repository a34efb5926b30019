"""A run that is asked to end by a signal saves, says how to go on, and goes on as if nothing had been."""

import itertools
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus
from mt.errors import Interrupted
from mt.training import train as training, validation
from mt.training.run import Run
from mt.training.signals import QUEUE, Signals, leave_at_once
from mt.training.start import begin, resume
from mt.training.train import train_and_test
from tests.marks import exhaustive
from tests.training.runs import left

pytestmark = pytest.mark.usefixtures("foreground")


def interrupted(run: Run, number: int) -> str:
    with pytest.raises(Interrupted) as caught:
        train_and_test(run)
    assert caught.value.number == number
    assert caught.value.status == (75 if number in QUEUE else 128 + number)
    with pytest.raises(ValueError, match="closed file"):
        run.log.scalars("train", 1, {})
    return str(caught.value)


@pytest.fixture(scope="module")
def config(configure: Callable[..., Config]) -> Config:
    options = {"max_updates": 6, "epochs": 9, "validate_every": 3, "average_checkpoints": 1, "plots": 0, "log_every": 1}
    embedding = {"embedding_dim": 32, "dropout": 0.2}
    return configure({"training": options, "embedding": embedding, "search": {"name": "greedy"}})


@pytest.fixture(scope="module")
def straight(config: Config, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a run leaves that nobody interrupts."""
    run = begin(config, corpus, tmp_path_factory.mktemp("runs") / "straight")
    train_and_test(run)
    return left(run.folder)


MOMENTS = [(moment, signal.SIGTERM) for moment in ("update 1", "update 3", "update 4", "validation 1", "test")]
MOMENTS += [("validation 2", signal.SIGINT), ("update 4", signal.SIGUSR1)]
OTHERS = [("update 4", signal.SIGHUP), ("update 4", signal.SIGUSR2)]


@pytest.mark.parametrize(("moment", "number"), [*MOMENTS, *exhaustive(*OTHERS)])
def test_a_signal_at_any_moment_loses_nothing(moment, number, straight, config, corpus, tmp_path, monkeypatch):
    where, _, at = moment.partition(" ")
    with monkeypatch.context() as patch:
        replace(patch, where, int(at or 1), lambda: os.kill(os.getpid(), number))
        run = begin(config, corpus, tmp_path / "run")
        sentence = interrupted(run, number)
    saved = {"update": int(at or 1), "validation": 3 * int(at or 1), "test": 6}[where]
    assert sentence == (f"the checkpoint of update {saved} is complete; resume with `mt train resume={run.folder}`")
    train_and_test(resume(config, corpus, run.folder))
    assert left(run.folder) == straight


PLACES: dict[str, tuple[Any, str]] = {
    "update": (torch.nn.utils, "clip_grad_norm_"),
    "validation": (validation, "dev_scores"),
    "test": (training, "report"),
}


def replace(patch: pytest.MonkeyPatch, where: str, at: int, send: Callable[[], None]) -> None:
    """Lets `send` be called in the course of an update, a validation, or the test."""
    turn = itertools.count(1)

    def signalled(function: Callable) -> Callable:
        def called(*arguments: object, **named: object) -> object:
            if next(turn) == at:
                send()
            return function(*arguments, **named)

        return called

    owner, name = PLACES[where]
    patch.setattr(owner, name, signalled(getattr(owner, name)))


@pytest.mark.parametrize(
    ("at", "numbers", "saved", "again"),
    [
        (5, (signal.SIGINT, signal.SIGINT), 3, "Ctrl-C once more"),
        (1, (signal.SIGINT, signal.SIGINT), None, "Ctrl-C once more"),  # before anything is saved
        (2, (signal.SIGTERM, signal.SIGTERM), 2, "Ctrl-C"),
        (2, (signal.SIGTERM, signal.SIGHUP), 2, "Ctrl-C"),
    ],
)
def test_a_second_ctrl_c_alone_ends_at_once(at, numbers, saved, again, config, corpus, tmp_path, monkeypatch, capfd):
    replace(monkeypatch, "update", at, lambda: [os.kill(os.getpid(), number) for number in numbers])
    run = begin(config, corpus, tmp_path / "run")
    sentence = f"the checkpoint of update {saved} is complete; resume with "
    if saved is None:
        sentence = f"{run.folder} holds no checkpoint yet, so start again"
    assert interrupted(run, numbers[0]).startswith(sentence)
    assert (run.checkpoints / f"update-{at:07d}").exists() == (saved == at)
    name = signal.Signals(numbers[0]).name
    notice = f"\n{name}: finishing the update, then saving; {again} ends at once, from the last checkpoint\n"
    assert capfd.readouterr().err == notice


def test_a_second_ctrl_c_while_saving(config: Config, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    replace(monkeypatch, "update", 4, lambda: os.kill(os.getpid(), signal.SIGINT))
    write = checkpoint.save_file

    def interrupting(*arguments: object) -> None:
        if run.signals.received:
            os.kill(os.getpid(), signal.SIGINT)
        write(*arguments)

    monkeypatch.setattr(checkpoint, "save_file", interrupting)
    run = begin(config, corpus, tmp_path / "run")
    assert interrupted(run, signal.SIGINT).startswith("the checkpoint of update 3 is complete")
    assert sorted(path.name for path in run.checkpoints.iterdir()) == ["best", "last", "update-0000003"]


def test_what_is_ignored_stays_ignored() -> None:
    """As under nohup, and in the background of a script."""
    before = [signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGINT)]
    try:
        with Signals() as signals:
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGINT)
            signals.check()
            os.kill(os.getpid(), signal.SIGTERM)
            with pytest.raises(Interrupted):
                signals.check()
    finally:
        for number, handler in zip((signal.SIGHUP, signal.SIGINT), before, strict=True):
            signal.signal(number, handler)


def test_a_run_in_a_thread_leaves_signals_alone() -> None:
    def enter() -> None:
        with Signals() as signals:
            signals.check()
            result.append(signal.getsignal(signal.SIGTERM))

    result: list = []
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert result == [signal.SIG_DFL]


@pytest.mark.parametrize("moment", ["update 4", *exhaustive("validation 2", "test")])
def test_a_handler_that_was_there_is_called_when_all_is_saved(moment, straight, config, corpus, tmp_path, monkeypatch):
    """As submitit's, which puts the job into the queue again, and ends the process."""

    def requeue(number: int, frame: object) -> None:
        resume(config, corpus, run.folder).close()  # no lock is left, and the checkpoint is whole
        saved.append((number, checkpoint.load_meta(run.checkpoints / "last").update))
        raise SystemExit(144)

    saved: list[tuple[int, int]] = []
    where, _, at = moment.partition(" ")
    before = signal.signal(signal.SIGUSR2, requeue)
    try:
        with monkeypatch.context() as patch:
            # SLURM may send SIGTERM, too, before; one that cuts a validation short leaves it there.
            numbers = [signal.SIGTERM, signal.SIGUSR2] if where == "update" else [signal.SIGUSR2]
            replace(patch, where, int(at or 1), lambda: [os.kill(os.getpid(), number) for number in numbers])
            run = begin(config, corpus, tmp_path / "run")
            with pytest.raises(SystemExit) as end:
                train_and_test(run)
        assert signal.getsignal(signal.SIGUSR2) is requeue
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert (end.value.code, saved) == (144, [(signal.SIGUSR2, {"update": 4, "validation": 6, "test": 6}[where])])
    train_and_test(resume(config, corpus, run.folder))
    assert left(run.folder) == straight


def test_a_signal_within_a_callback_ends_the_test_at_its_next_batch(config, corpus, tmp_path, monkeypatch, straight):
    """Python ignores what is raised there, and says so."""
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    run = begin(config, corpus, tmp_path / "run")

    def killed(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    def in_a_callback() -> None:
        thing = type("Thing", (), {})()
        reference = weakref.ref(thing, killed)
        del thing
        assert reference() is None and len(ignored) == 1

    with monkeypatch.context() as patch:
        replace(patch, "test", 1, in_a_callback)
        assert interrupted(run, signal.SIGTERM).startswith("the checkpoint of update 6 is complete")
    assert not (run.folder / "results.json").exists()
    assert not run.model.encoder._forward_pre_hooks
    train_and_test(resume(config, corpus, run.folder))
    assert left(run.folder) == straight


def test_a_signal_at_the_very_end_is_not_lost(config, corpus, tmp_path, monkeypatch):
    run = begin(config, corpus, tmp_path / "run")
    close = run.log.close
    monkeypatch.setattr(run.log, "close", lambda: [os.kill(os.getpid(), signal.SIGTERM), close()])
    assert interrupted(run, signal.SIGTERM).startswith("the checkpoint of update 6 is complete")
    assert (run.folder / "results.json").is_file()


def test_until_a_run_has_handlers_a_signal_ends_the_process_with_the_status_of_a_queue() -> None:
    for number in QUEUE:
        child = os.fork()
        if not child:
            leave_at_once()
            os.close(2)
            os.kill(os.getpid(), number)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == os.EX_TEMPFAIL == 75
