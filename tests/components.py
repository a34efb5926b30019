"""Every mechanism in the tables, with every choice of each of its options: a new entry is tested without a new test."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, get_args, get_origin

import pytest
import torch
from pydantic import BaseModel
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from mt import batch as batches
from mt.models.attention import ATTENTIONS
from mt.models.attention.base import Memory, scattered
from mt.models.attention.energy import ENERGIES
from mt.models.attention.marginal import MarginalConfig
from mt.models.decoders import DECODERS
from mt.models.encoders import Encoded
from mt.models.losses import LOSSES, Pass, latency, quantity, reinforce
from mt.step import Attended

SIZE = 6
"""Of queries and values, so that every energy is possible."""
LENGTHS = (11, 1, 4, 7, 2, 11, 9, 3)
SMALL = {"attention_dim": 5, "max_source_length": 12, "window": 2}
"""Options that suit these sizes, where a component has them; the window is narrower than the sentences."""


@contextmanager
def doubles_by_default() -> Iterator[None]:
    """Makes float64 torch's default type for a while, as callers do."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def loss_beside(options: Any, attention: nn.Module, output: Any, losses: Tensor, *masks: Tensor) -> Any:
    """What an attention with these options adds to the loss, or None. masks: of the source and the target."""
    made: Any = SimpleNamespace(config=SimpleNamespace(attention=options), decoder=SimpleNamespace(attention=attention))
    source_mask, target_mask = masks
    nothing: Any = None
    batch = batches.Batch(nothing, nothing, nothing, nothing, target_mask)
    passed = Pass(batch, nothing, nothing, Memory((), nothing, source_mask), nothing, output)
    own = {term: LOSSES[term](made.config) for term in (latency, quantity, reinforce)}
    terms = [weight * term(made, passed, losses) for term, weight in own.items() if weight]
    return sum(terms) if terms else None


class Case(NamedTuple):
    """An attention with its options, soft or hard."""

    config: Any
    hard: bool

    def __str__(self) -> str:
        values = self.config.model_dump().values()
        label = "-".join(str(value["name"] if isinstance(value, dict) else value) for value in values)
        return f"{label}-{'hard' if self.hard else 'soft'}"


def choices(config: type[BaseModel]) -> Iterator[dict[str, Any]]:
    """Every energy, named choice and switch of a configuration at least once: as many combinations as the option with
    the most values has."""
    options: dict[str, tuple[Any, ...]] = {}
    for name, field in config.model_fields.items():
        if name == "energy":
            options[name] = tuple(small(energy.Config) for energy in ENERGIES.values())
        elif get_origin(field.annotation) is Literal:
            options[name] = get_args(field.annotation)
        elif field.annotation is bool:
            options[name] = (False, True)
    for number in range(max(map(len, options.values()), default=1)):
        yield {name: values[number % len(values)] for name, values in options.items()}


def small(config: type[BaseModel], **options: Any) -> Any:
    return config(**{name: value for name, value in SMALL.items() if name in config.model_fields}, **options)


CASES = [
    Case(small(attention.Config, **options), hard)
    for attention in ATTENTIONS.values()
    for options in choices(attention.Config)
    for hard in ((False, True) if attention.supports_hard else (False,))
]
# The two of its models that `choices` leaves out.
CASES += [Case(small(MarginalConfig, order=order, monotonic=order == 0), False) for order in (0, 1)]
FIRST = [*{(case.config.name, case.hard): case for case in reversed(CASES)}.values()]
"""One for each attention, soft and hard: of what is around an attention, the short run tries these."""


def together(attention: str, decoder: dict[str, Any]) -> bool:
    """Whether a model may have this attention with a decoder of these options."""
    mixing = ATTENTIONS[attention].mixes_predictions
    return not mixing or DECODERS[decoder["name"]].Config(**decoder).mixes_predictions


MONOTONIC = [case for case in CASES if case.hard and ATTENTIONS[case.config.name].monotonic]
"""Those that can go on while the source does."""


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    """Every attention."""
    return request.param


@pytest.fixture(params=MONOTONIC, ids=str)
def monotonic(request: pytest.FixtureRequest) -> Case:
    return request.param


class Batch(NamedTuple):
    values: Tensor
    """[B, S, V], garbage on padding."""
    mask: Tensor
    queries: Tensor
    """[B, T, Q]"""

    @property
    def encoded(self) -> Encoded:
        return Encoded(self.values, self.mask, self.values[:, 0])


@pytest.fixture
def batch() -> Batch:
    generator = torch.Generator().manual_seed(11)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    values = torch.randn(len(LENGTHS), max(LENGTHS), SIZE, generator=generator)
    return Batch(
        values.masked_fill(~mask[..., None], 1e4), mask, torch.randn(len(LENGTHS), 7, SIZE, generator=generator)
    )


def dense(attended: Attended, width: int) -> Tensor:
    """The weights of a step over whole sources, [B, width]."""
    return attended.weights if attended.first is None else scattered(attended.weights, attended.first, width)


@pytest.fixture(params=["compiled", "torch"])
def hard_steps(request) -> Iterator[None]:
    """Hard steps in each of their two forms; with gradients there is one."""
    with torch.set_grad_enabled(request.param == "torch"):
        yield


def shaken(module: nn.Module, seed: int = 0, scale: float = 0.8) -> Any:
    """Gives parameters a size at which decisions go both ways, reproducibly; returns the module in eval mode."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, scale, generator=generator)
    return module.eval()


@pytest.fixture
def shake():
    return shaken


class Largest(TorchDispatchMode):
    """The largest tensor that was made, in elements; views of what there was are none."""

    def __init__(self, *given: Tensor) -> None:
        super().__init__()
        self.known = {part.untyped_storage().data_ptr() for part in given}
        self.elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for part in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(part, Tensor) and part.untyped_storage().data_ptr() not in self.known:
                self.elements = max(self.elements, part.untyped_storage().nbytes() // part.element_size())
        return made


@pytest.fixture
def largest() -> type[Largest]:
    return Largest
