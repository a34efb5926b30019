"""The exponential moving average of the weights: its arithmetic, its checkpoint, and a run that goes on with it."""

from collections.abc import Callable

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from mt import checkpoint, load
from mt.errors import UserError
from mt.evaluation.report import origin
from mt.training.optimizer import MovingAverage, freeze
from mt.training.run import Run
from mt.training.start import resume
from mt.training.train import choose_best, train
from tests.refusals.sentences import sign

DECAY = 0.9


def test_weights_of_n_updates_ago_weigh_the_decay_to_the_power_of_n():
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    average = MovingAverage(model, DECAY)
    history = []
    for number in range(1, 30):
        with torch.no_grad():
            model.weight.normal_()
            model.bias.normal_()
        average.update(number)
        history.append(model.weight.double())
        shares = torch.tensor([DECAY ** (number - 1 - i) for i in range(number)], dtype=torch.float64)
        mean = torch.einsum("n,nij->ij", shares / shares.sum(), torch.stack(history))
        torch.testing.assert_close(average.tensors()["weight.ema"].double(), mean, rtol=1e-5, atol=1e-6)
    average.fill()
    torch.testing.assert_close(model.weight.double(), mean, rtol=1e-5, atol=1e-6)


def test_what_is_frozen_has_none():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    freeze(model, ["0"])
    assert MovingAverage(model, DECAY).tensors().keys() == {"1.weight.ema", "1.bias.ema"}


@pytest.mark.parametrize("score", [40.0, 20.0])
def test_it_is_a_checkpoint_at_the_end_and_the_best_one_where_dev_says_so(
    score: float, start: Callable[..., Run], scored: Callable[..., None], capsys: pytest.CaptureFixture
) -> None:
    scored([10, 30, score, 29])
    run = start({"training": {"validate_every": 2, "max_updates": 4, "ema_decay": DECAY, "average_checkpoints": 2}})
    train(run)
    expected = {name: tensor.clone() for name, tensor in run.moving_average.tensors().items()}
    choose_best(run)
    run.close()
    won = score == 40
    note = "(best)" if won else "(not better than the best)"
    shown = capsys.readouterr().out.splitlines()
    assert f"moving average: loss 9.000  bleu {score:.2f}  {note}" in shown
    assert (
        shown[-1] == f"testing the {'moving average of 4 updates (decay 0.9)' if won else 'best checkpoint (update 4)'}"
    )
    model, _, _ = checkpoint.load_model(run.folder, "ema")
    saved = dict(model.named_parameters())
    assert all(torch.equal(tensor, saved[name.removesuffix(".ema")]) for name, tensor in expected.items())
    expected_origin = {"name": "ema", "update": 4, "ema_decay": DECAY} if won else {"name": "best", "update": 4}
    assert origin(run.folder, "best") == expected_origin and origin(run.folder, "ema")["name"] == "ema"
    assert (run.checkpoints / "best").resolve().name == ("ema" if won else "update-0000004")
    assert not (run.checkpoints / "ema" / checkpoint.TRAINING).exists()
    assert load(run.folder, checkpoint="ema", device="cpu").translate("two cats see houses").text is not None


def test_a_checkpoint_that_lacks_it_is_refused(start: Callable[..., Run], scored: Callable[..., None]) -> None:
    scored([10])
    run = start({"training": {"validate_every": 2, "max_updates": 2, "ema_decay": DECAY}})
    train(run)
    run.close()
    last = (run.checkpoints / "last").resolve()
    tensors = load_file(last / checkpoint.TRAINING)
    del tensors["decoder.combine.weight.ema"]
    save_file(tensors, last / checkpoint.TRAINING)
    sign(last)
    sentence = r"training.safetensors lacks the moving average of decoder.combine.weight: copy the checkpoint again"
    with pytest.raises(UserError, match=sentence):
        resume(run.config, run.corpus, run.folder)
