"""Every mechanism in the tables, with every choice of its options: a new entry is tested without a new test."""

import itertools
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args, get_origin

import pytest
import torch
from pydantic import BaseModel
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from mt.models.attention import ATTENTIONS
from mt.models.attention.energies import ENERGIES
from mt.models.encoders import Encoded

SIZE = 6
"""Of queries and values, so that every energy is possible."""
LENGTHS = (11, 1, 4, 7, 2, 11, 9, 3)
SMALL = {"attention_dim": 5, "max_source_length": 12, "window": 2}
"""Options that suit these sizes, where a component has them; the window is narrower than the sentences."""


class Case(NamedTuple):
    """An attention with its options, soft or hard."""

    config: Any
    hard: bool


def choices(config: type[BaseModel]) -> Iterator[dict[str, Any]]:
    """All combinations of the energies, the named choices and the switches of a configuration."""
    options: dict[str, tuple[Any, ...]] = {}
    for name, field in config.model_fields.items():
        if name == "energy":
            options[name] = tuple(small(energy.Config) for energy in ENERGIES.values())
        elif get_origin(field.annotation) is Literal:
            options[name] = get_args(field.annotation)
        elif field.annotation is bool:
            options[name] = (False, True)
    for values in itertools.product(*options.values()):
        yield dict(zip(options, values, strict=True))


def small(config: type[BaseModel], **options: Any) -> Any:
    return config(**{name: value for name, value in SMALL.items() if name in config.model_fields}, **options)


def cases() -> Iterator[tuple[Case, str]]:
    for attention in ATTENTIONS.values():
        for options in choices(attention.Config):
            label = "-".join(str(getattr(value, "name", value)) for value in options.values())
            for hard in (False, True) if attention.supports_hard else (False,):
                yield Case(small(attention.Config, **options), hard), f"{label}-{'hard' if hard else 'soft'}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`case`: every attention; `monotonic`: those that can go on while the source does, in hard mode."""
    for fixture in {"case", "monotonic"} & set(metafunc.fixturenames):
        chosen = [
            (case, name)
            for case, name in cases()
            if fixture == "case" or (case.hard and ATTENTIONS[case.config.name].monotonic)
        ]
        result, names = zip(*chosen, strict=True)
        metafunc.parametrize(fixture, result, ids=names)


class Batch(NamedTuple):
    values: Tensor
    """[B, S, V], garbage on padding."""
    mask: Tensor
    queries: Tensor
    """[B, T, Q]"""

    @property
    def encoded(self) -> Encoded:
        return Encoded(self.values, self.values, self.mask, self.values[:, 0])


@pytest.fixture
def batch() -> Batch:
    generator = torch.Generator().manual_seed(11)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    values = torch.randn(len(LENGTHS), max(LENGTHS), SIZE, generator=generator)
    return Batch(
        values.masked_fill(~mask[..., None], 1e4), mask, torch.randn(len(LENGTHS), 7, SIZE, generator=generator)
    )


@pytest.fixture(params=["compiled", "torch"])
def hard_steps(request) -> Iterator[None]:
    """Hard steps in each of their two forms; with gradients there is one."""
    with torch.set_grad_enabled(request.param == "torch"):
        yield


@pytest.fixture
def shake():
    """Gives parameters a size at which decisions go both ways, reproducibly; returns the module in eval mode."""

    def shaken(module: nn.Module, seed: int = 0, scale: float = 0.8) -> Any:
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.normal_(0, scale, generator=generator)
        return module.eval()

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
