"""The options of training: bounded, and by default as conf/ has them."""

from typing import get_args

import pytest
from omegaconf import OmegaConf

from mt.cli.command import CONF
from mt.common.options import parse
from mt.config import Config, TrainingConfig
from mt.errors import UserError
from tests.marks import combined

NUMBERS = [
    name
    for name, field in TrainingConfig.model_fields.items()
    if {int, float} & {field.annotation, *get_args(field.annotation)}
]


def test_the_defaults_of_the_class_are_those_of_the_file() -> None:
    assert TrainingConfig().model_dump(mode="json") == OmegaConf.to_container(
        OmegaConf.load(CONF / "training" / "default.yaml")
    )


@combined(value=[-1, 10**30, float("inf"), float("nan")], name=NUMBERS)
def test_every_number_is_bounded(name: str, value: float) -> None:
    with pytest.raises(UserError, match=rf"^training\.{name}=.* is not possible: "):
        parse({"training": {name: value}}, Config)


@pytest.mark.parametrize("seed", [-1, 1 << 63])
def test_a_seed_that_torch_does_not_take_is_refused(seed: int) -> None:
    with pytest.raises(UserError, match=r"^seed=-?\d+ is not possible"):
        parse({"seed": seed}, Config)
