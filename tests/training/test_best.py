"""Which checkpoint is the best, what is kept beside it, and which weights are tested."""

import pytest
import torch
from safetensors.torch import load_file

from mt import checkpoint
from mt.evaluation.report import origin
from mt.training.run import Run
from mt.training.train import choose_best, train
from tests.training.runs import finished, logged


def names(run: Run) -> list[str]:
    return sorted(path.name for path in run.checkpoints.iterdir())


def folders(*updates: int) -> list[str]:
    return [f"update-{update:07d}" for update in updates]


@pytest.mark.parametrize("average", [1, 2])
def test_best_last_and_the_last_validations_are_kept(average, start, scored):
    scored([10, 30, 20, 25, 15])
    often = {"validate_every": 4, "save_every": 1, "max_updates": 18, "average_checkpoints": average}
    run = finished(start({"training": often}))
    # Validations at 4, 8 (the best), 12, 16 and, since it is the last update, 18.
    assert run.progress.validations == [4, 8, 12, 16, 18] and run.progress.best["bleu"] == 30
    assert run.progress.bad_validations == [0, 0, 3] and run.progress.best_update == 8
    assert names(run) == ["best", "last", *folders(8, *([16, 18] if average == 2 else [18]))]
    assert (run.checkpoints / "best").resolve().name == "update-0000008"
    assert (run.checkpoints / "last").resolve().name == "update-0000018"
    assert [line["bleu"] for line in logged(run.folder, "dev")] == [10, 30, 20, 25, 15]


@pytest.mark.parametrize("averaged", [40.0, 20.0])
def test_the_average_is_taken_where_it_is_better(averaged, start, scored, capsys):
    scored([10, 30, 20, averaged, averaged])
    run = start({"training": {"validate_every": 2, "max_updates": 6, "average_checkpoints": 2}})
    train(run)
    states = [load_file(run.checkpoints / name / checkpoint.MODEL) for name in folders(4, 6)]
    won = averaged == 40
    for _ in range(2):  # the second as when a finished run is resumed
        choose_best(run)
        best = checkpoint.load_model(run.folder, "best")[0].state_dict()
        assert all(torch.equal(tensor, best[name]) for name, tensor in run.model.state_dict().items())
        for name, tensor in states[0].items():
            torch.testing.assert_close(best[name], (tensor + states[1][name]) / 2 if won else tensor)
        assert run.progress.best["bleu"] == (40 if won else 30)
    run.close()
    assert ("average" in names(run)) == won
    shown = capsys.readouterr().out.splitlines()
    note = "best" if won else "not better than the best"
    assert f"average of the last 2: loss 9.000  bleu {averaged:.2f}  ({note})" in shown
    tested = "average of updates 4, 6" if won else "best checkpoint (update 4)"
    assert shown[-1] == f"testing the {tested}"
    expected_origin = {"name": "average", "update": 6, "averaged": [4, 6]} if won else {"name": "best", "update": 4}
    assert origin(run.folder, "best") == expected_origin


@pytest.mark.parametrize("updates", [1, 3, 4])
def test_a_score_of_0_throughout_leaves_the_choice_to_chrf_and_is_said_once(updates, start, scored, capsys):
    scored([0.0] * 5, others={"chrf": [27.8, 46.9, 40.0, 41.0, 30.0]})
    run = start({"training": {"validate_every": 1, "max_updates": updates}})
    train(run)
    assert updates > 1 or "too low" not in capsys.readouterr().out
    choose_best(run)
    run.close()
    assert (run.checkpoints / "best").resolve().name == f"update-000000{min(updates, 2)}"
    assert capsys.readouterr().out.count("warning: bleu is 0.00 in the best validation, too low to tell") == 1
