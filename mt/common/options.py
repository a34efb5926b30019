"""Makes frozen and validated objects of plain data, and one sentence of what is wrong with it."""

import ast
import contextlib
import functools
import inspect
import itertools
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Annotated, Any, TypeVar, cast, get_args

from pydantic import BaseModel, Field, ValidationError

from mt.errors import UserError, nearest, shown

Model = TypeVar("Model", bound=BaseModel)


MAX_SIZE = 1 << 20
"""The upper bound of every option that is a size of a tensor's dimension, or a length of a text."""
MAX_COUNT = 1 << 40
"""The upper bound of every option that counts updates, sentences or tokens."""
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 in hexadecimal digits."""


class Options(BaseModel, frozen=True, extra="forbid", strict=True):
    """The base of every configuration class: immutable, no unknown options, no silent conversion of types."""


_IN_YAML: Callable[[str], str] = "{}=".format
_NOTATION = ContextVar("_NOTATION", default=_IN_YAML)
"""Maps the name of an option to how the user writes it in front of its value."""


@contextlib.contextmanager
def notation(prefix_of: Callable[[str], str]) -> Iterator[None]:
    """Lets errors inside name options as the user writes them: `search.mode` is prefix_of("search.mode") in front of
    its value. Elsewhere it is `search.mode=`, as in YAML."""
    before = _NOTATION.set(prefix_of)
    try:
        yield
    finally:
        _NOTATION.reset(before)


def as_written(option: str, value: object = "") -> str:
    """Returns an option and its value as the user writes them: `search.mode=hard`, or `--mode hard` in commands."""
    return f"{_NOTATION.get()(option)}{value}"


def parse(plain: Mapping[str, Any], model: type[Model], where: str = "") -> Model:
    """Makes a `model` of plain data (of the types that JSON has).

    where: the place that the data comes from, for the sentence. Raises UserError with the first thing that is wrong.
    """
    prefix = f"{where}: " if where else ""
    try:
        # Through JSON: strict types hold, and lists are accepted as tuples.
        text = json.dumps(plain)
    except (TypeError, ValueError, RecursionError) as error:  # dates and bytes of YAML, numbers of 10,000 digits
        raise UserError(f"{prefix}{_unreadable(str(error))}") from None
    return parse_json(text, model, where)


def parse_json(text: str | bytes, model: type[Model], where: str = "") -> Model:
    """Does what `parse` does, of data that is JSON already, which somebody else may have written."""
    # Files and requests have options as in YAML, whatever command reads them.
    with notation(_IN_YAML) if where else contextlib.nullcontext():
        try:
            return model.model_validate_json(text)
        except ValidationError as error:
            raise UserError((f"{where}: " if where else "") + _sentence(error, model)) from None


def flat(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the single options of nested ones, by dotted names."""
    for key, value in options.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def as_typed(value: Any) -> str:
    """Returns an option's value as it is typed on a command line: `true`, `null`, `2`, `[0.9,0.98]`, `[bleu,chrf]`."""
    if isinstance(value, list | tuple):
        return f"[{','.join(map(as_typed, value))}]"
    # 2.0 is typed as 2, which a float option takes as well.
    return value if isinstance(value, str) else json.dumps(value).removesuffix(".0")


@functools.cache
def described(model: type[BaseModel]) -> Mapping[str, str]:
    """Returns what each option of a class means: the docstring below it, those of its bases too."""
    found: dict[str, str] = {}
    # The class may word an option of a base anew, so that it comes last, as the first of several bases does.
    for base in reversed(model.__bases__):
        found |= described(base) if base is not BaseModel and issubclass(base, BaseModel) else {}
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    # The docstring of an attribute is the string in the line after it.
    for field, after in itertools.pairwise(cast(ast.ClassDef, definition).body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found


def first_fault(error: ValidationError, depth: int | None = None) -> str:
    """Returns the first thing that is wrong with data of a file, such as `search.mode: field required`.

    depth: how deep the data are nested, where below that pydantic names the types that it tried.
    """
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(map(str, fault["loc"][:depth]))
    message = fault["msg"][0].lower() + fault["msg"][1:]
    return f"{field}: {message}" if field else message


def _sentence(error: ValidationError, model: type[BaseModel]) -> str:
    """Says the first thing that is wrong."""
    # The first fault alone: the others are often its consequences.
    fault = error.errors(include_url=False)[0]
    path, options, others = _locate(fault["loc"], model)
    key = shown(".".join(path))
    value = fault["input"]
    context = fault.get("ctx", {})
    match fault["type"]:
        case "extra_forbidden":
            # The option may belong to another choice of the same group.
            owners = [kind.model_fields["name"].default for kind in others if path[-1] in kind.model_fields]
            if owners:
                names = " or ".join(f"{'.'.join(path[:-1])}.name={name}" for name in owners)
                return f"unknown option {key} here: it is an option of {names}; choose that, or leave it out (~{key})"
            return f"unknown option {key}: {nearest(path[-1], options)}"
        case "missing":
            return f"{key} is missing: give it a value"
        case "union_tag_invalid":
            return _no_choice(as_written(f"{key}.name"), context["tag"], context["expected_tags"])
        case "union_tag_not_found":
            return f"{key} does not say which kind: add {key}.name"
        case "literal_error" if isinstance(value, str):
            return _no_choice(as_written(key), value, context["expected"])
        case "json_invalid":
            return _unreadable(context["error"].partition(" at line")[0])  # of our JSON
    return f"{as_written(key, shown(json.dumps(value)))} is not possible: {fault['msg'][0].lower()}{fault['msg'][1:]}"


def _unreadable(reason: str) -> str:
    if "surrogate" in reason:  # a byte of the command line that is no character in this locale
        return "an option holds bytes that are not UTF-8: give names in UTF-8, and set PYTHONUTF8=1 in other locales"
    return f"the options cannot be read ({reason}): write plain numbers, text, true, false, null and lists"


def _locate(
    location: tuple[int | str, ...], model: type[BaseModel]
) -> tuple[list[str], list[str], list[type[BaseModel]]]:
    """Returns a location as a user would write it, the options that exist beside it, and the other kinds that it could
    be of.

    pydantic adds to a location the name that decided each union on the way.
    """
    path: list[str] = []
    options: list[str] = []
    kinds = [model]
    others = list[type[BaseModel]]()
    for key in location:
        # Of several kinds the next key says which; it is none that a user has written.
        if len(kinds) > 1:
            others = [kind for kind in kinds if kind.model_fields["name"].default != key]
            kinds = [kind for kind in kinds if kind.model_fields["name"].default == key]
            continue
        path.append(str(key))
        fields = kinds[0].model_fields if kinds else {}
        options = list(fields)
        others = [] if path[-1] in fields else others
        kinds = models_in(fields[path[-1]].annotation) if path[-1] in fields else []
    return path, options, others


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """Returns the configuration classes that an annotation allows."""
    return [kind for kind in kinds_in(annotation) if isinstance(kind, type) and issubclass(kind, BaseModel)]


def kinds_in(annotation: Any) -> list[Any]:
    """Returns an annotation, and all that stands within it."""
    return [annotation, *(kind for inner in get_args(annotation) for kind in kinds_in(inner))]


def _no_choice(option: str, wrong: str, expected: str) -> str:
    """Returns the sentence for a value that is none of those expected, which pydantic lists in single quotes."""
    choices = re.findall(r"'([^']*)'", expected)
    return f"{option}{shown(wrong)} is an invalid choice: {nearest(wrong, choices)}"
