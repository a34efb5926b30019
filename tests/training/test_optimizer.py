from typing import Any

import pytest
import torch
from torch import nn

from mt.config import parse
from mt.training.optimizer import OptimizerConfig, build_optimizer, rate


def config(**options: Any) -> OptimizerConfig:
    return parse(options, OptimizerConfig)


def rates(chosen: OptimizerConfig, points: list[int], epoch: int = 1) -> list[float]:
    return [rate(chosen, update=update, epoch=epoch, bad_validations=[0]) for update in points]


def test_warmup_rises_linearly_to_the_full_rate() -> None:
    warm = config(lr=0.4, warmup=4, schedule={"name": "constant"})
    assert rates(warm, [1, 2, 3, 4, 5, 100]) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4, 0.4])


def test_constant() -> None:
    assert rates(config(lr=0.5, schedule={"name": "constant"}), [1, 1000]) == [0.5, 0.5]


def test_inverse_square_root_falls_after_the_hold() -> None:
    falling = config(lr=1.0, warmup=10, schedule={"name": "inverse_sqrt", "hold": 100})
    assert rates(falling, [5, 10, 100, 400, 10_000]) == pytest.approx([0.5, 1.0, 1.0, 0.5, 0.1])


@pytest.mark.parametrize(("epoch", "expected"), [(1, 1.0), (5, 1.0), (6, 0.5), (7, 0.25), (10, 0.03125)])
def test_luong_halves_after_five_epochs(epoch: int, expected: float) -> None:
    assert rates(config(lr=1.0, schedule={"name": "luong", "after": 5}), [1, 99], epoch) == [expected, expected]


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ([0], 1.0),
        ([1], 1.0),  # one is let pass
        ([2], 0.5),
        ([3], 0.5),
        ([4], 0.25),
        ([2, 0], 0.5),  # a new best does not raise the rate again
        ([2, 1], 0.5),
        ([2, 2], 0.25),
        ([1, 1, 1], 1.0),  # never two in a row
    ],
)
def test_plateau_falls_after_bad_validations(bad: list[int], expected: float) -> None:
    plateau = config(lr=1.0, schedule={"name": "plateau", "factor": 0.5, "patience": 1})
    assert rate(plateau, update=50, epoch=3, bad_validations=bad) == pytest.approx(expected)


@pytest.mark.parametrize(("name", "kind"), [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW)])
def test_adam_is_built_as_configured(name: str, kind: type) -> None:
    optimizer = build_optimizer(
        config(name=name, lr=0.1, betas=[0.5, 0.6], eps=1e-3, weight_decay=0.2), nn.Linear(2, 2)
    )
    assert type(optimizer) is kind
    group = optimizer.param_groups[0]
    assert (group["lr"], group["betas"], group["eps"], group["weight_decay"]) == (0.1, (0.5, 0.6), 1e-3, 0.2)


def test_sgd_takes_the_plain_step() -> None:
    model = nn.Linear(1, 1, bias=False)
    before = model.weight.detach().clone()
    optimizer = build_optimizer(config(name="sgd", lr=0.5), model)
    (3 * model.weight).sum().backward()
    optimizer.step()
    torch.testing.assert_close(model.weight.detach(), before - 1.5)
