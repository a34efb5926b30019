"""The root configuration: plain data in, frozen and validated objects out. The same door for Hydra and for checkpoints."""

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, Field, ValidationError

from mt.data.dataset import DatasetConfig
from mt.errors import UserError, nearest
from mt.models.seq2seq import ModelConfig
from mt.search.config import SearchConfig
from mt.training.config import TrainingConfig
from mt.training.optimizer import OptimizerConfig


class Config(ModelConfig, frozen=True, extra="forbid", strict=True):
    """Everything that makes a run: with the raw text and the code, these values determine its result."""

    dataset: DatasetConfig = DatasetConfig(generator="phrasebook")
    optimizer: OptimizerConfig = OptimizerConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()
    seed: int = Field(1, ge=0)
    """Of the weights, the order of batches, dropout and noise."""
    device: str = Field("auto", pattern=r"^(auto|cpu|cuda(:\d+)?|mps)$")
    """auto: a GPU where there is one."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """bf16: matrix products in bfloat16 (torch.autocast), weights in float32; about twice as fast where the hardware has it."""


def parse(plain: Mapping[str, Any], model: type[BaseModel] = Config, where: str = "") -> Any:
    """Plain data (what JSON can say) as a `model`, by default a `Config`.

    where: names the place the data comes from, for the sentence. Raises UserError with the first thing that is wrong.
    """
    try:
        # Through JSON: strict types hold, and lists are accepted as tuples.
        return model.model_validate_json(json.dumps(plain))
    except ValidationError as error:
        raise UserError(f"{where}{': ' if where else ''}{_sentence(error, model)}") from None


def _sentence(error: ValidationError, model: type[BaseModel]) -> str:
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in _path(first["loc"], model))
    match first["type"]:
        case "extra_forbidden":
            siblings = _fields(first["loc"][:-1], model)
            return f"unknown option {key}: {nearest(str(first['loc'][-1]), siblings)}"
        case "union_tag_invalid":
            choices = [choice.strip("' ") for choice in first["ctx"]["expected_tags"].split(",")]
            return f"{key}.name={first['ctx']['tag']} is no choice: {nearest(first['ctx']['tag'], choices)}"
        case "literal_error" if isinstance(first["input"], str):
            choices = [choice.strip("' ") for choice in first["ctx"]["expected"].replace(" or ", ", ").split(",")]
            return f"{key}={first['input']} is no choice: {nearest(first['input'], choices)}"
    message = first["msg"][0].lower() + first["msg"][1:]
    return f"{key}={json.dumps(first['input'])} is not possible: {message}"


def _path(location: tuple[int | str, ...], model: type[BaseModel]) -> list[int | str]:
    """A location without the tags that pydantic adds where a union was decided."""
    path, kinds = [], [model]
    for part in location:
        fields = {name: field.annotation for kind in kinds for name, field in kind.model_fields.items()}
        if part not in fields and any(part == kind.model_fields["name"].default for kind in kinds if "name" in kind.model_fields):
            continue
        path.append(part)
        kinds = _models(fields.get(str(part)))
    return path


def _fields(location: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    """The names of the options that exist at a location."""
    kinds = [model]
    for part in location:
        named = [kind for kind in kinds if part == _name(kind)]
        kinds = named or [m for kind in kinds if part in kind.model_fields for m in _models(kind.model_fields[str(part)].annotation)]
    return [name for kind in kinds for name in kind.model_fields]


def _name(kind: type[BaseModel]) -> Any:
    return kind.model_fields["name"].default if "name" in kind.model_fields else None


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The configuration classes that an annotation allows."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]
