"""Learning rates and optimizers, modules that are frozen, and the moving average of the weights."""

from collections.abc import Callable
from typing import Any, get_args

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from mt import checkpoint, load
from mt.common.options import parse
from mt.config import Config
from mt.config.optimizer import OptimizerConfig
from mt.evaluation.report import origin
from mt.training.optimizer import MovingAverage, build_optimizer, learning_rate, train_mode
from mt.training.run import Run
from mt.training.start import resume
from mt.training.train import choose_best, train
from tests.refusals.sentences import require_refusal, sign
from tests.training.runs import finished


def config(**options: Any) -> OptimizerConfig:
    return parse({"optimizer": {"name": "adam"} | options}, Config).optimizer


BY_UPDATES = {"name": "decay", "unit": "updates", "every": 10}
COOLDOWN = {"name": "cooldown", "share": 0.5, "factor": 0.01}
PLATEAU = {"name": "plateau", "factor": 0.5, "patience": 1}


def rate(chosen: OptimizerConfig, update: int = 50, epoch: int = 1, bad: Any = (0,), total: int | None = None) -> float:
    return learning_rate(chosen, update, epoch, bad, total)


@pytest.mark.parametrize(
    ("warmup", "schedule", "name", "expected"),
    [
        (4, {"name": "constant"}, "update", {1: 0.25, 2: 0.5, 3: 0.75, 4: 1.0, 5: 1.0, 100: 1.0}),
        (0, {"name": "constant"}, "update", {1: 1.0, 1000: 1.0}),
        # Without a hold it falls after 1000 updates, or after a longer warm-up.
        (10, {"name": "inverse_sqrt"}, "update", {10: 1.0, 1000: 1.0, 4000: 0.5}),
        (4000, {"name": "inverse_sqrt"}, "update", {2000: 0.5, 4000: 1.0, 16_000: 0.5}),
        (10, {"name": "inverse_sqrt", "hold": 100}, "update", {5: 0.5, 10: 1.0, 100: 1.0, 400: 0.5, 10_000: 0.1}),
        (0, BY_UPDATES | {"after": 50, "floor": 0.2}, "update", {1: 1, 50: 1, 51: 0.5, 60: 0.5, 61: 0.25, 71: 0.2}),
        (0, BY_UPDATES | {"after": 20, "factor": 0.25, "staircase": False}, "update", {20: 1, 25: 0.5, 40: 0.0625}),
        (10, {"name": "decay", "floor": 0.5}, "update", {1: 0.1, 10: 1.0}),  # a floor does not raise the warm-up
        (0, {"name": "decay"}, "epoch", {1: 1.0, 5: 1.0, 6: 0.5, 7: 0.25, 10: 0.03125}),
        # At the end of any run; where nobody knows where that is, the rate stays.
        (0, COOLDOWN, "total", {10_000: 1.0, 100: 1.0, 80: 0.1**0.5, 50: 0.01, None: 1.0}),
        # One validation is let pass, and a new best does not raise the rate again.
        (0, PLATEAU, "bad", {(0,): 1, (1,): 1, (2,): 0.5, (3,): 0.5, (4,): 0.25, (2, 1): 0.5, (2, 2): 0.25, (1, 1): 1}),
    ],
)
def test_rates_of_schedules(warmup: int, schedule: dict[str, Any], name: str, expected: dict[Any, float]) -> None:
    chosen = config(lr=1.0, warmup=warmup, schedule=schedule)
    assert [rate(chosen, **{name: value}) for value in expected] == pytest.approx([*expected.values()])


@pytest.mark.parametrize("kind", get_args(get_args(OptimizerConfig)[0]), ids=lambda kind: kind.__name__)
def test_every_option_reaches_the_optimizer_of_torch(kind: type[Any]) -> None:
    model = nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    # Values that are neither the project's nor torch's, so that none can be lost, and inside the bounds of each.
    plain = kind().model_dump(exclude={"name", "warmup", "schedule"})
    values = {key: (0.55, 0.65) if isinstance(value, tuple) else value * 0.9 + 0.11 for key, value in plain.items()}
    chosen = kind(**values)
    optimizer = build_optimizer(chosen, model)
    assert isinstance(optimizer, kind.of_torch)
    (group,) = optimizer.param_groups
    assert [*group["params"]] == [model.weight]
    assert {key: group[key] for key in values} == values


# Frozen modules stay as they are, in training and after it is resumed.
DEEP = {"encoder": {"name": "bilstm", "hidden_size": 16, "num_layers": 2, "dropout": 0.5}}


def options(max_updates: int, *frozen: str) -> dict:
    training = {"freeze": list(frozen), "max_updates": max_updates, "validate_every": 3, "plots": 0}
    embedding = {"embedding_dim": 32, "dropout": 0.3}
    return {"training": training, "search": {"name": "greedy"}, "embedding": embedding}


def test_what_is_frozen_does_not_move_and_the_rest_does(start: Callable[..., Run], capsys: pytest.CaptureFixture):
    """Also what is shared with the frozen."""
    frozen = ("encoder", "decoder.attention", "decoder.embedding")
    run = start(options(3, *frozen) | DEEP)
    before = {name: tensor.clone() for name, tensor in run.model.state_dict().items()}
    finished(run)
    moved = {name for name, tensor in run.model.state_dict().items() if not torch.equal(tensor, before[name])}
    still = {name for name in before if name.startswith((*frozen, "decoder.output.weight"))}
    assert still and moved == set(before) - still
    saved = load_file(run.checkpoints / "last" / checkpoint.TRAINING)
    assert saved and not any(name.startswith(tuple(still)) for name in saved)
    counts = [sum(p.numel() for p in run.model.parameters() if p.requires_grad is trained) for trained in (False, True)]
    assert f"frozen: {', '.join(frozen)}, {counts[0]:,} of {sum(counts):,} parameters" in capsys.readouterr().out


def test_frozen_modules_have_no_dropout_and_recurrent_ones_can_have_a_gradient(start: Callable[..., Run]) -> None:
    run = start(options(1, "encoder") | DEEP)
    run.close()
    torch.manual_seed(1)
    train_mode(run.model, ["encoder", "frontend"])
    vectors = torch.randn(1, 4, 32, requires_grad=True)
    mask = torch.ones(1, 4, dtype=torch.bool)
    values = [run.model.encoder(vectors, mask).values for _ in range(2)]
    assert torch.equal(*values) and run.model.decoder.dropout.training
    assert not any(module.training for module in run.model.frontend.modules())
    # cuDNN refuses the gradient of recurrent layers in evaluation mode.
    recurrent = [module for module in run.model.encoder.modules() if isinstance(module, torch.nn.RNNBase)]
    assert recurrent and all(module.training for module in recurrent)


# The exponential moving average of the weights: its arithmetic, its checkpoint, and a run that goes on with it.
DECAY = 0.9


def test_weights_of_n_updates_ago_weigh_the_decay_to_the_power_of_n():
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    model.bias.requires_grad_(False)  # what is frozen has none
    average = MovingAverage(model, DECAY)
    assert average.tensors().keys() == {"weight.ema"}
    history = []
    for number in range(1, 30):
        with torch.no_grad():
            model.weight.normal_()
        average.update(number)
        history.append(model.weight.double())
        shares = torch.tensor([DECAY ** (number - 1 - i) for i in range(number)], dtype=torch.float64)
        mean = torch.einsum("n,nij->ij", shares / shares.sum(), torch.stack(history))
        torch.testing.assert_close(average.tensors()["weight.ema"].double(), mean, rtol=1e-5, atol=1e-6)
    average.fill()
    torch.testing.assert_close(model.weight.double(), mean, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("score", [40.0, 20.0])
def test_it_is_a_checkpoint_at_the_end_and_the_best_one_where_dev_says_so(score, start, scored, capsys):
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
    tested = "moving average of 4 updates (decay 0.9)" if won else "best checkpoint (update 4)"
    assert shown[-1] == f"testing the {tested}"
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
    run = finished(start({"training": {"validate_every": 2, "max_updates": 2, "ema_decay": DECAY}}))
    last = (run.checkpoints / "last").resolve()
    tensors = load_file(last / checkpoint.TRAINING)
    del tensors["decoder.combine.weight.ema"]
    save_file(tensors, last / checkpoint.TRAINING)
    sign(last)
    sentence = r"training.safetensors lacks the moving average of decoder.combine.weight: copy the checkpoint again"
    require_refusal(lambda: resume(run.config, run.corpus, run.folder), sentence)
