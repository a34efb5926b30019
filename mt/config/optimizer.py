"""The options of learning-rate schedules and, below them, of optimizers, each with its class of torch.

A further optimizer is one class here, whose options have the names that torch gives them, and a place in
`OptimizerConfig`; `scripts/options.py` then writes its file in conf/optimizer/. `mt.training.optimizer` computes the
rates."""

import inspect
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator

from mt.common.options import MAX_COUNT, Options
from mt.errors import UserError

MAX_LR = 1e4
"""The upper bound of every learning rate."""
Beta = Annotated[float, Field(ge=0, lt=1)]
"""Decay of a running mean."""


class ConstantConfig(Options):
    """After the warm-up, the rate stays."""

    name: Literal["constant"] = "constant"


class InverseSqrtConfig(Options):
    """After the warm-up, the rate falls with the square root of the updates (Vaswani et al. 2017, section 5.3)."""

    name: Literal["inverse_sqrt"] = "inverse_sqrt"
    hold: Annotated[int, "updates"] | None = Field(None, gt=0, le=MAX_COUNT)
    """Updates, the warm-up among them, before the rate begins to fall; null: 1000, or the warm-up if longer."""


class PlateauConfig(Options):
    """The rate falls when validation stops improving."""

    name: Literal["plateau"] = "plateau"
    factor: float = Field(0.5, gt=0, lt=1)
    """The factor by which the rate is multiplied."""
    patience: Annotated[int, "validations"] = Field(1, ge=0, le=MAX_COUNT)
    """The number of validations without a new best before each fall."""


class DecayConfig(Options):
    """The rate falls by a factor in every period; by default it is halved every epoch after the fifth (Luong et al.
    2015, section 4.1)."""

    name: Literal["decay"] = "decay"
    factor: float = Field(0.5, gt=0, lt=1)
    """The factor by which the rate is multiplied in each period."""
    every: int = Field(1, gt=0, le=MAX_COUNT)
    """The length of a period, in units."""
    unit: Literal["epochs", "updates"] = "epochs"
    """epochs or updates: the unit of `every` and `after`."""
    after: int = Field(5, ge=0, le=MAX_COUNT)
    """The number of units at the full rate, before the first period; 8 with dropout (Luong et al. 2015)."""
    staircase: bool = True
    """Whether the rate falls at the start of a period, or with each unit of it. Where the unit is an epoch and the
    period one long, that is the same."""
    floor: float = Field(0.0, ge=0, le=MAX_LR)
    """The rate below which it does not fall."""


class CooldownConfig(Options):
    """The rate stays, and falls exponentially at the end of the run, however long that is (Zhai et al. 2022, "Scaling
    Vision Transformers", section 3.5; Hägele et al. 2024)."""

    name: Literal["cooldown"] = "cooldown"
    share: Annotated[float, "share"] = Field(0.2, gt=0, le=1)
    """The share of the run's updates, the last ones, over which it falls exponentially."""
    factor: float = Field(0.05, gt=0, lt=1)
    """The factor by which it has been multiplied in the end."""


ScheduleConfig = Annotated[
    ConstantConfig | InverseSqrtConfig | PlateauConfig | DecayConfig | CooldownConfig, Field(discriminator="name")
]


class _Common(Options):
    """The options that all optimizers have."""

    of_torch: ClassVar[type[torch.optim.Optimizer]]
    fixed: ClassVar[dict[str, Any]] = {}
    """Arguments of that class that are no options."""

    lr: float = Field(1e-3, gt=0, le=MAX_LR)
    """The highest learning rate."""
    weight_decay: float = Field(0.0, ge=0, le=1)
    """The pull of the weights towards zero: times the weight, added to its gradient."""
    warmup: Annotated[int, "updates"] = Field(0, ge=0, le=MAX_COUNT)
    """Updates over which the rate rises linearly from zero."""
    schedule: ScheduleConfig = ConstantConfig()

    def build(self, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """Makes the optimizer of torch with these options. Its rate is to be set before each update."""
        # The remaining options have the names of torch's arguments.
        options = self.model_dump(exclude={"name", "warmup", "schedule"})
        return _uncompiled(self.of_torch)(parameters, **options, **self.fixed)

    @model_validator(mode="after")
    def _reaches_its_rate(self) -> Self:
        schedule = self.schedule
        if isinstance(schedule, InverseSqrtConfig) and schedule.hold is not None and schedule.hold < self.warmup:
            raise UserError(
                f"optimizer.schedule.hold={schedule.hold} ends before optimizer.warmup={self.warmup} does, so that the "
                f"rate would never reach optimizer.lr: set optimizer.schedule.hold={self.warmup} or more, or null"
            )
        return self


def _uncompiled(kind: Any) -> Any:
    """Returns an optimizer of torch without the wrappers that keep torch's compiler out of its methods. Their first
    call would load the compiler, which takes a second and 70 MB in every process."""
    methods = {name: inspect.unwrap(getattr(kind, name)) for name in ("add_param_group", "zero_grad")}
    # The innermost function of a step leaves it to a wrapper to keep no graph.
    return type(kind.__name__, (kind,), methods | {"step": torch.no_grad()(inspect.unwrap(kind.step))})


class SGDConfig(_Common):
    """Plain stochastic gradient descent, by default as Luong et al. (2015, section 4.1) used it."""

    name: Literal["sgd"] = "sgd"
    of_torch: ClassVar[type[torch.optim.Optimizer]] = torch.optim.SGD
    lr: float = Field(1.0, gt=0, le=MAX_LR)
    """The highest learning rate."""
    schedule: ScheduleConfig = DecayConfig()


class AdamConfig(_Common):
    """Adam (Kingma & Ba 2015), by default with the moments and the schedule of Vaswani et al. (2017, section 5.3)."""

    name: Literal["adam"] = "adam"
    of_torch: ClassVar[type[torch.optim.Optimizer]] = torch.optim.Adam
    # One kernel makes the whole update, where torch's default takes one for each operation.
    fixed: ClassVar[dict[str, Any]] = {"fused": True}
    lr: float = Field(1.5e-3, gt=0, le=MAX_LR)
    """The highest learning rate."""
    betas: Annotated[tuple[Beta, Beta], "share"] = (0.9, 0.98)
    """Decay of the two moments."""
    eps: float = Field(1e-9, gt=0, le=1)
    """Added to the root of the second moment."""
    warmup: Annotated[int, "updates"] = Field(200, ge=0, le=MAX_COUNT)
    """Updates over which the rate rises linearly from zero."""
    schedule: ScheduleConfig = InverseSqrtConfig()


class AdamWConfig(AdamConfig):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019)."""

    name: Literal["adamw"] = "adamw"  # type: ignore[assignment]
    of_torch: ClassVar[type[torch.optim.Optimizer]] = torch.optim.AdamW
    weight_decay: float = Field(0.01, ge=0, le=1)
    """The pull of the weights towards zero, times the rate."""


class AdadeltaConfig(_Common):
    """Adadelta (Zeiler 2012). It computes step sizes, which `lr` multiplies."""

    name: Literal["adadelta"] = "adadelta"
    of_torch: ClassVar[type[torch.optim.Optimizer]] = torch.optim.Adadelta
    lr: float = Field(1.0, gt=0, le=MAX_LR)
    """The factor by which its steps are multiplied."""
    rho: Annotated[float, "share"] = Field(0.95, ge=0, lt=1)
    """Decay of the squared gradients and of the squared steps."""
    eps: float = Field(1e-6, gt=0, le=1)
    """Added to both before the roots are taken; it makes the first steps possible."""


class AdagradConfig(_Common):
    """Adagrad (Duchi et al. 2011)."""

    name: Literal["adagrad"] = "adagrad"
    of_torch: ClassVar[type[torch.optim.Optimizer]] = torch.optim.Adagrad
    lr: float = Field(0.15, gt=0, le=MAX_LR)
    """The highest learning rate (See et al. 2017, section 5: 0.15)."""
    initial_accumulator_value: float = Field(0.1, ge=0, le=1e6)
    """The value that the sums of squared gradients start from (See et al. 2017: 0.1)."""


OptimizerConfig = Annotated[
    SGDConfig | AdamConfig | AdamWConfig | AdadeltaConfig | AdagradConfig, Field(discriminator="name")
]
