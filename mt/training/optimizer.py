"""Optimizers and learning-rate schedules. A schedule is a pure function of how far training is."""

from typing import Annotated, Literal

import torch
from pydantic import BaseModel, Field
from torch import nn


class ConstantConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["constant"] = "constant"


class InverseSqrtConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    """After the warm-up, the rate falls with the square root of the updates (Vaswani et al. 2017, section 5.3)."""

    name: Literal["inverse_sqrt"] = "inverse_sqrt"
    hold: int = Field(1000, gt=0)
    """Updates, the warm-up among them, before the rate begins to fall."""


class PlateauConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    """The rate falls when validation stops improving."""

    name: Literal["plateau"] = "plateau"
    factor: float = Field(0.5, gt=0, lt=1)
    patience: int = Field(1, ge=0)
    """Validations without a new best that are let pass before each fall."""


class LuongScheduleConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    """The rate is halved every epoch after a number of them (Luong et al. 2015, section 4.1)."""

    name: Literal["luong"] = "luong"
    after: int = Field(5, ge=0)
    """Epochs at the full rate (Luong et al. 2015: 5, and 8 with dropout)."""


ScheduleConfig = Annotated[
    ConstantConfig | InverseSqrtConfig | PlateauConfig | LuongScheduleConfig, Field(discriminator="name")
]


class OptimizerConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["adam", "adamw", "sgd"] = "adam"
    lr: float = Field(1e-3, gt=0)
    """The highest learning rate."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Decay of Adam's two moments (Kingma & Ba 2015); unused by sgd."""
    eps: float = Field(1e-8, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    warmup: int = Field(0, ge=0)
    """Updates over which the rate rises linearly from zero."""
    schedule: ScheduleConfig = ConstantConfig()


def build_optimizer(config: OptimizerConfig, model: nn.Module) -> torch.optim.Optimizer:
    if config.name == "sgd":
        return torch.optim.SGD(model.parameters(), lr=config.lr, weight_decay=config.weight_decay)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[config.name]
    return kind(
        model.parameters(),
        lr=config.lr,
        betas=config.betas,
        eps=config.eps,
        weight_decay=config.weight_decay,
        fused=True,
    )


def rate(config: OptimizerConfig, *, update: int, epoch: int, bad_validations: list[int]) -> float:
    """The learning rate of one update.

    update, epoch: counted from 1. bad_validations: the lengths of the runs of validations without a new best, in order.
    """
    lr = config.lr * min(1.0, update / config.warmup) if config.warmup else config.lr
    match config.schedule:
        case InverseSqrtConfig(hold=hold):
            return lr * min(1.0, (hold / update) ** 0.5)
        case PlateauConfig(factor=factor, patience=patience):
            return lr * factor ** sum(bad // (patience + 1) for bad in bad_validations)
        case LuongScheduleConfig(after=after):
            return lr * 0.5 ** max(0, epoch - after)
    return lr
