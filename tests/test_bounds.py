"""Every number of every configuration class has bounds: a stranger's file cannot ask for all memory, or for ever."""

import json
import math
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel, ValidationError

from mt.config import Config


def classes(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """A configuration class and all that can stand in it."""
    yield kind
    for option in kind.model_fields.values():
        for leaf in leaves(option.annotation):
            if isinstance(leaf, type) and issubclass(leaf, BaseModel):
                yield from classes(leaf)


def leaves(annotation: Any) -> Iterator[Any]:
    """The types that an annotation is made of."""
    if get_origin(annotation) is Literal:
        return
    parts = get_args(annotation)
    yield from (leaf for part in parts for leaf in leaves(part)) if parts else [annotation]


def numbers() -> list[Any]:
    """Each option that is a number, or has some in it, by its class and name."""
    result = {
        (kind, name)
        for kind in classes(Config)
        for name, option in kind.model_fields.items()
        if {int, float} & set(leaves(option.annotation))
    }
    return sorted(result, key=lambda option: (option[0].__name__, option[1]))


HUGE = {int: (2**63, -(2**63), 10**30, -(10**30)), float: (1e30, -1e30, math.inf, -math.inf, math.nan)}


@pytest.mark.parametrize(("kind", "name"), numbers(), ids=lambda value: getattr(value, "__name__", value))
def test_every_number_has_bounds(kind: type[BaseModel], name: str):
    option = kind.model_fields[name]
    types = {int, float} & set(leaves(option.annotation))
    for value in (value for number in types for value in HUGE[number]):
        given = [value, *option.default[1:]] if isinstance(option.default, tuple) else value
        with pytest.raises(ValidationError) as refusal:
            kind.model_validate_json(json.dumps({name: given}))
        assert name in {error["loc"][0] for error in refusal.value.errors()}, given


def test_the_numbers_are_found():
    result = {f"{kind.__name__}.{name}" for kind, name in numbers()}
    assert result > {
        "Config.seed",
        "AdamConfig.betas",
        "DecayConfig.floor",
        "MoChAConfig.chunk_size",
        "ConcatConfig.attention_dim",
    }
