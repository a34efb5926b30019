"""Going on with a run that stopped or ended."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mt.config import Config
from mt.errors import UserError
from mt.training.loop import updates
from mt.training.run import Run
from mt.training.saving import save_unsaved
from mt.training.start import resume, run_of
from mt.training.train import train, train_and_test
from tests.training.runs import chosen, finished, left


@pytest.mark.parametrize("linked", [True, False])
def test_a_finished_run_can_be_resumed(linked, trained, configure, corpus, tmp_path):
    """Also a copy of it without links."""
    folder = Path(shutil.copytree(trained, tmp_path / "again", symlinks=linked))
    train_and_test(resume(configure(), corpus, folder))
    before, after = (left(each) for each in (trained, folder))
    assert (after["lines"], after["results"]) == (before["lines"], before["results"])
    assert after["names"]["last"] == before["names"]["last"] and (not linked or after["names"] == before["names"])
    assert after["tensors"]["last/model.safetensors"] == before["tensors"]["last/model.safetensors"]


def test_a_raised_average_takes_what_is_there(start: Callable[..., Run], scored: Callable[..., None]) -> None:
    scored([10, 20, 30, 5])
    run = finished(start({"training": {"validate_every": 1, "max_updates": 3, "average_checkpoints": 1}}))
    chosen(resume(retrained(run, average_checkpoints=3), run.corpus, run.folder))
    assert (run.checkpoints / "best").resolve().name == "update-0000003"


def retrained(run: Run, **training: int) -> Config:
    return run.config.model_copy(update={"training": run.config.training.model_copy(update=training)})


@pytest.mark.parametrize(("later", "best"), [([35, 20], "average"), ([45, 20], "update-0000004")])
def test_a_later_validation_has_to_beat_an_average_that_won(later, best, start, scored):
    scored([10, 30, 20, 40])
    run = chosen(start({"training": {"validate_every": 1, "average_checkpoints": 2, "plots": 0, "max_updates": 3}}))
    assert os.readlink(run.checkpoints / "best") == "average" and run.progress.best["bleu"] == 40
    scored(later)
    again = resume(retrained(run, max_updates=4), run.corpus, run.folder)
    assert again.progress.best["bleu"] == 40 and os.readlink(run.checkpoints / "best") == "average"
    train(again)
    # And after a second end, before which nothing was averaged.
    again.close()
    assert os.readlink(run.checkpoints / "best") == best
    last = resume(retrained(run, max_updates=4), run.corpus, run.folder)
    last.close()
    assert last.progress.best["bleu"] == again.progress.best["bleu"] == max(40, later[0])
    assert os.readlink(run.checkpoints / "best") == best


def test_a_run_that_is_to_end_before_its_first_validation_is_validated(start, scored):
    scored([10])
    run = start({"training": {"validate_every": 100, "max_updates": 50}})
    endless = updates(run.model, run.optimizer, run.corpus.split("train"), run.config, run.progress)
    assert len([next(endless) for _ in range(3)]) == 3
    save_unsaved(run)
    run.close()
    fewer = retrained(run, max_updates=2)
    again = finished(resume(fewer, run.corpus, run.folder))
    assert again.progress.best and (run.folder / "checkpoints/best").resolve().name == "update-0000003"


def test_nothing_is_left_to_train(run, configure, corpus, capsys):
    for options, more in (
        ({}, "training.epochs"),
        ({"training": {**configure().training.model_dump(), "max_updates": 3}}, "training.max_updates or"),
    ):
        again = finished(resume(configure(options), corpus, run))
        update = f"{again.progress.update:,}"
        assert f"\nnothing is left to train after update {update}: raise {more}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["last", "best", "update-*"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_checkpoint_stands_for_its_run(name: str, linked: bool, run: Path, tmp_path: Path) -> None:
    [folder, *_] = (run / "checkpoints").glob(name)
    if linked:
        (tmp_path / "mine").symlink_to(folder)
        folder = tmp_path / "mine"
    assert run_of(folder).resolve() == run.resolve()
    assert run_of(run) == run


def test_a_lost_best_checkpoint_is_noticed_at_once(start: Callable[..., Run], scored: Callable[..., None]) -> None:
    scored([30, 20, 10])
    run = finished(start({"training": {"validate_every": 1, "max_updates": 3, "average_checkpoints": 1}}))
    shutil.rmtree(run.checkpoints / "update-0000001")
    with pytest.raises(UserError, match="update-0000001, the best checkpoint of the run, is missing: copy"):
        resume(run.config, run.corpus, run.folder)
