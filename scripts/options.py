"""Writes the options of conf/ from the classes that read them: names, defaults and what they mean.

    python scripts/options.py            # writes conf/; --check names the files that differ, as a test does

An option stands in its class alone. In a file of conf/ all lines from `name:` on are written here, in config.yaml those
between its two marks. What is above them, as a list of defaults, is written by hand, but for the names of choices that
it lacks. `options_page` makes the page of the reference, which the site has.
"""

import re
import sys
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import mt
from mt.cli.parser import Parser
from mt.common.options import as_typed, described, flat, kinds_in, models_in
from mt.config import Config

CONF = Path(__file__).parents[1] / "conf"
COLUMN = 27
"""Where comments begin."""
WIDTH = 120
ONE_FILE = {"training": "default", "dataset": "files"}
"""Parts without choices, or of which one choice has all options, and their files."""
MARKS = ("# Options of a run, by scripts/options.py.\n", "\n# Options of this command.\n")


def main() -> None:
    parser = Parser(__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where a file differs")
    check = parser.parse_args().check
    if Path(mt.__file__).parents[1] != CONF.parent:
        parser.error(f"{CONF} is to be written from the classes of another folder, {mt.__file__}: set PYTHONPATH=.")
    changed = {path: text for path, text in files() if not path.exists() or path.read_text(encoding="utf-8") != text}
    for path, text in changed.items():
        print(path)
        if not check:
            path.write_text(text, encoding="utf-8")
    sys.exit(bool(check and changed))


# The files of conf/.


def files() -> Iterator[tuple[Path, str]]:
    """Yields each file of conf/ that has all options of a class, and what is to stand in it."""
    root = CONF / "config.yaml"
    begin, end = MARKS
    above, _, rest = root.read_text(encoding="utf-8").partition(begin)
    below = rest.partition(end)[2]
    yield root, f"{_naming_choices(above, Config)}{begin}{_block(Config(), CONF)}{end}{below}"
    for path, model in choices(Config, CONF):
        options = model.model_construct()
        groups = [f"  - {name}: {part.name}\n" for name, part in options if (path.parent / name).is_dir()]
        above = "defaults:\n" + "".join(groups) if groups else ""
        if path.exists() and "name" in model.model_fields:
            above = re.split(r"^name:", path.read_text(encoding="utf-8"), maxsplit=1, flags=re.MULTILINE)[0]
        yield path, _naming_choices(above, model) + _block(options, path.parent)


def _naming_choices(defaults: str, model: type[BaseModel]) -> str:
    """Adds to the comment of each line of a list of defaults, `- part: choice`, the choices that it does not name."""
    lines = defaults.splitlines(keepends=True)
    for i, line in enumerate(lines):
        part = re.match(r"  - (\w+): \w+", line)
        if not part or part[1] not in model.model_fields or part[1] in ONE_FILE:
            continue
        names = [kind.model_fields["name"].default for kind in models_in(model.model_fields[part[1]].annotation)]
        absent = ", ".join(name for name in names if not re.search(rf"\b{name}\b", line.partition("#")[2]))
        if absent:
            lines[i] = f"{line.rstrip()}, {absent}\n" if "#" in line else f"{part[0]:<{COLUMN + 2}}# {absent}\n"
    return "".join(lines)


def choices(model: type[BaseModel], folder: Path) -> Iterator[tuple[Path, type[BaseModel]]]:
    """Yields the file and the class of each choice of the groups below a folder, for the parts of a class."""
    for name, field in model.model_fields.items():
        group = folder / name
        if not group.is_dir():
            continue
        for part in models_in(field.annotation):
            default = part.model_fields["name"].default if name not in ONE_FILE else ONE_FILE[name]
            yield group / f"{default}.yaml", part
            yield from choices(part, group)


def _block(options: BaseModel, folder: Path | None, indent: str = "") -> str:
    """Returns the lines of all options of an object, each with its value and a comment.

    folder: holds its groups, whose options are in other files; None without groups.
    """
    meanings = described(type(options))
    lines: list[str] = []
    for name in sorted(type(options).model_fields, key="name".__ne__):
        value = getattr(options, name)
        meaning = _with_choices(meanings.get(name, ""), type(options).model_fields[name].annotation)
        if folder is not None and (folder / name).is_dir():
            continue
        if isinstance(value, BaseModel):
            lines += [*_commented(f"{indent}{name}:", meaning), _block(value, None, f"{indent}  ").rstrip("\n")]
        else:
            lines += _commented(f"{indent}{name}: {_yaml(value)}", meaning)
    return "\n".join(lines) + "\n"


def _yaml(value: Any) -> str:
    plain = [*value] if isinstance(value, tuple) else value
    return yaml.safe_dump(plain, default_flow_style=True, width=1000).removesuffix("...\n").rstrip("\n")


def _with_choices(meaning: str, annotation: Any) -> str:
    """Adds the values that an option takes to its meaning, unless the meaning names all of them."""
    literals = [kind for kind in kinds_in(annotation) if typing.get_origin(kind) is typing.Literal]
    values = [str(value) for literal in literals for value in typing.get_args(literal)]
    named = all(re.search(rf"\b{value}\b", meaning) for value in values)
    return meaning if named or len(values) < 2 else f"{', '.join(values)}. {meaning}"


def _commented(line: str, comment: str) -> list[str]:
    """Returns a line with a comment beside it, which may continue below; above a line that is long."""
    if not comment:
        return [line]
    begin = max(COLUMN, len(line) + 2)
    if begin > 2 * COLUMN:  # too little room beside it
        indent = line[: len(line) - len(line.lstrip())]
        return [*(f"{indent}# {text}" for text in textwrap.wrap(comment, WIDTH - len(indent) - 2)), line]
    first, *more = textwrap.wrap(comment, WIDTH - begin - 2, break_on_hyphens=False, break_long_words=False)
    return [f"{line:<{begin}}# {first}", *(f"{'':<{begin}}# {text}" for text in more)]


# The page of the reference.

BOUNDS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
UNBOUNDED = 1e6
"""Bounds from here on keep out nonsense alone, and are left out."""
PUBLISHED = (
    r"(?:[A-Z][\w'-]+(?: (?:et al\.|& [A-Z]\w+))? \d{4}|[Ee]quations? \d|[Ss]ections? \d|OpenNMT|JoeyNMT|fairseq|Moses)"
)
SOURCE = re.compile(rf" ?\((?=[^()]*{PUBLISHED})([^()]*)\)|^({PUBLISHED}[^.]*)\.$")
"""A publication or a toolkit that a docstring names, with the value there: in brackets, or as all of the docstring."""
COLUMNS = ("option", "type", "default", "unit", "meaning", "source", "presets")


def options_page() -> str:
    """Returns a table of options for each part of the configuration, and for each choice of a part."""
    lines = [
        "# Options",
        "",
        "Every option, from the class that reads it. `source` has the publication or toolkit that an option comes",
        "from, and its value there. `presets` has the presets that change the default, and their values. A unit of –",
        "is a number alone.",
        "[How an option gets its value](../options.md) says which of several settings wins.",
    ]
    presets = _presets()
    for title, model in _parts(Config, ""):
        rows = [*_rows(title, model, presets)]
        if rows:
            name = getattr(model.model_fields.get("name"), "default", None)
            choice = f"{title}={name}" if isinstance(name, str) else title or "The root"
            summary = " ".join((vars(model).get("__doc__") or "").split())
            lines += [
                "",
                f"## {choice}",
                "",
                summary,
                "",
                f"| {' | '.join(COLUMNS)} |",
                "|---" * len(COLUMNS) + "|",
                *rows,
            ]
    return "\n".join(lines) + "\n"


def _parts(model: type[BaseModel], title: str) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yields each class of options with the dotted name of its part, the nested ones after those that hold them."""
    yield title, model
    for name, field in model.model_fields.items():
        for inner in models_in(field.annotation):
            yield from _parts(inner, f"{title}.{name}".lstrip("."))


def _rows(title: str, model: type[BaseModel], presets: Mapping[str, list[str]]) -> Iterator[str]:
    meanings = described(model)
    for name, field in model.model_fields.items():
        if name == "name" or models_in(field.annotation):
            continue
        key = f"{title}.{name}".lstrip(".")
        of_choice = f"{title}={getattr(model.model_fields.get('name'), 'default', '')}.{name}"
        side = re.fullmatch(r"(dataset\.tokenizer)\.(source|target)\.(\w+)", key)
        text = f"`{side[1]}.{side[3]}` of the {side[2]} alone." if side else meanings[name]
        bounds = [
            f"{sign} {getattr(m, bound):g}"
            for m in field.metadata
            for bound, sign in BOUNDS.items()
            if hasattr(m, bound) and abs(getattr(m, bound)) < UNBOUNDED
        ]
        cells = (
            f"`{key}`",
            ", ".join([_type(field.annotation), *bounds]),
            "" if field.is_required() else f"`{as_typed(field.default)}`",
            _unit(field),
            SOURCE.sub("", text).strip(),
            "; ".join(found[1] or found[2] for found in SOURCE.finditer(text)),
            ", ".join([*presets.get(key, ()), *presets.get(of_choice, ())]),
        )
        yield f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)  # a bar would end it


def _unit(field: FieldInfo) -> str:
    """Returns the unit of an option, which is a text in its annotation: `Annotated[int, "tokens"]`; – of a number
    without one, and "" of what is no number."""
    kinds = kinds_in(field.annotation)
    unit = next((each for each in (*field.metadata, *kinds) if isinstance(each, str)), "")
    return unit or ("–" if {int, float, tuple} & {typing.get_origin(kind) or kind for kind in kinds} else "")


def _type(annotation: Any) -> str:
    """Returns a type as a reader of YAML knows it."""
    origin = typing.get_origin(annotation)
    inner = typing.get_args(annotation)
    if annotation is type(None):
        return "null"
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin is typing.Annotated:
        return _type(inner[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type(each) for each in inner)
    if origin in (tuple, list):
        return f"list of {_type(inner[0])}"
    return {int: "integer", float: "number", str: "text", bool: "`true`, `false`"}.get(annotation, str(annotation))


def _presets() -> dict[str, list[str]]:
    """Returns for each option the presets that set it, with the value. Those of a front-end belong to its kind:
    `frontend=image.channels`."""
    found: dict[str, list[str]] = {}
    for path in sorted((CONF / "preset").glob("*.yaml")):
        preset = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        kinds = [each for each in preset.pop("defaults", []) if isinstance(each, dict)]
        front_end = "".join(f"frontend={kind['override /frontend']}." for kind in kinds if "override /frontend" in kind)
        for key, value in flat(preset):
            of_choice = re.sub(r"^frontend\.", front_end or "frontend.", key)
            found.setdefault(of_choice, []).append(f"{path.stem} `{as_typed(value)}`")
    return found


if __name__ == "__main__":
    main()
