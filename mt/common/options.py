"""Plain data to frozen and validated objects, and what is wrong with it as one sentence."""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from mt.errors import UserError, invalid_choice, nearest, shown

Model = TypeVar("Model", bound=BaseModel)


MAX_SIZE = 1 << 20
"""Bound of every option that is a size of a tensor's dimension, or a length of a text."""
MAX_COUNT = 1 << 40
"""Bound of every option that counts updates, sentences or tokens."""


class Options(BaseModel, frozen=True, extra="forbid", strict=True):
    """The base of every configuration class: immutable, no unknown options, no silent conversion of types."""


def parse(plain: Mapping[str, Any], model: type[Model], where: str = "") -> Model:
    """Plain data (what JSON can say) as a `model`.

    where: names the place the data comes from, for the sentence. Raises UserError with the first thing that is wrong.
    """
    prefix = f"{where}: " if where else ""
    try:
        # Through JSON: strict types hold, and lists are accepted as tuples.
        text = json.dumps(plain)
    except (TypeError, ValueError, RecursionError) as error:  # dates and bytes of YAML, numbers of 10,000 digits
        raise UserError(f"{prefix}{_unreadable(str(error))}") from None
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise UserError(prefix + _sentence(error, model)) from None


def _sentence(error: ValidationError, model: type[BaseModel]) -> str:
    first = error.errors(include_url=False)[0]
    path, options, others = _locate(first["loc"], model)
    key = shown(".".join(path))
    given = first["input"]
    context = first.get("ctx", {})
    match first["type"]:
        case "extra_forbidden":
            having = [kind.model_fields["name"].default for kind in others if path[-1] in kind.model_fields]
            if having:
                names = " or ".join(f"{'.'.join(path[:-1])}.name={name}" for name in having)
                return f"unknown option {key} here: it is an option of {names}; choose that, or leave it out"
            return f"unknown option {key}: {nearest(path[-1], options)}"
        case "missing":
            return f"{key} is missing: give it a value"
        case "union_tag_invalid":
            tag = context["tag"]
            return invalid_choice(f"{key}.name", tag, _quoted(context["expected_tags"]))
        case "union_tag_not_found":
            return f"{key} does not say which kind: add {key}.name"
        case "literal_error" if isinstance(given, str):
            return invalid_choice(key, given, _quoted(context["expected"]))
        case "json_invalid":
            return _unreadable(context["error"].partition(" at line")[0])  # of our JSON
    return f"{key}={shown(json.dumps(given))} is not possible: {first['msg'][0].lower()}{first['msg'][1:]}"


def _unreadable(reason: str) -> str:
    if "surrogate" in reason:  # a byte of the command line that is no character in this locale
        return "an option holds bytes that are not UTF-8: give names in UTF-8, and set PYTHONUTF8=1 in other locales"
    return f"the options cannot be read ({reason}): write plain numbers, text, true, false, null and lists"


def _locate(
    location: tuple[int | str, ...], model: type[BaseModel]
) -> tuple[list[str], list[str], list[type[BaseModel]]]:
    """A location as a user would write it, the options that exist beside it, and the other kinds that it could be of.

    pydantic adds to a location the name that decided each union on the way.
    """
    path: list[str] = []
    options: list[str] = []
    kinds = [model]
    others = list[type[BaseModel]]()
    for part in location:
        if len(kinds) > 1:
            others = [kind for kind in kinds if kind.model_fields["name"].default != part]
            kinds = [kind for kind in kinds if kind.model_fields["name"].default == part]
            continue
        path.append(str(part))
        fields = kinds[0].model_fields if kinds else {}
        options = list(fields)
        others = [] if path[-1] in fields else others
        kinds = _models(fields[path[-1]].annotation) if path[-1] in fields else []
    return path, options, others


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The configuration classes that an annotation allows."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def _quoted(text: str) -> list[str]:
    """The words in single quotes, as pydantic lists choices."""
    return re.findall(r"'([^']*)'", text)
