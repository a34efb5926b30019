"""Knows the groups and choices of `group=choice`, and refuses all others before anything is composed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from hydra.core.override_parser.types import Override
from omegaconf import OmegaConf

from mt.common.options import as_typed, flat
from mt.errors import UserError, invalid_choice

# In the wheel it is a part of the package, in a clone it stands beside it.
CONF = next(path for parent in Path(__file__).parents[1:3] if (path := parent / "conf").is_dir())
PRESETS = ("preset", "online")
"""Groups whose files choose in other groups, and set options of several."""
_RENAMED = {"recipe": "preset", "attention=concat": "attention=bahdanau", "encoder=embedding": "encoder=none"}
"""Groups and choices that had another name."""
OPTIONAL = (*PRESETS, "experiment")
"""Groups in which there may be no choice."""


def search_path(roots: Sequence[Path]) -> list[str]:
    """Returns the override by which Hydra finds folders of configuration files that are not ours; none without them."""
    paths = [f"'file://{root.resolve()}'" for root in roots if root != CONF]
    return [f"hydra.searchpath=[{','.join(paths)}]"] if paths else []


def groups(roots: Sequence[Path]) -> list[str]:
    """Returns groups such as `attention` and `attention/energy`, below any of the folders of configuration files."""
    folders = {path.relative_to(root).as_posix() for root in roots for path in root.rglob("*") if path.is_dir()}
    # What is chosen in Hydra's own groups is Hydra's to check.
    return sorted(group for group in folders if "__pycache__" not in group and group.split("/")[0] != "hydra")


def choices(group: str, roots: Sequence[Path]) -> list[str]:
    """Returns the choices of a group: the names of its files."""
    return sorted({path.stem for root in roots for path in (root / group).glob("*.yaml")})


def choices_with_option(key: str, roots: Sequence[Path]) -> list[str]:
    """Returns the choices, such as `attention=mocha`, that have an option of this dotted name; none of data sets, which
    all have the same options."""
    for group in sorted({*groups(roots)} - {*OPTIONAL, "dataset"}, key=len, reverse=True):
        prefix = group.replace("/", ".") + "."
        if key.startswith(prefix):
            files = {path.stem: path for root in roots for path in (root / group).glob("*.yaml")}
            names = key.removeprefix(prefix).split(".")
            fitting = [f"{group}={choice}" for choice, file in sorted(files.items()) if _has_option(file, names)]
            if fitting:
                return fitting
    return []


def _has_option(file: Path, names: Sequence[str]) -> bool:
    """Returns whether a file has an option of these names, each below the one before; interpolations have none."""
    options: Any = OmegaConf.to_container(OmegaConf.load(file), resolve=False)
    for name in names:
        if not isinstance(options, dict) or name not in options:
            return False
        options = options[name]
    return True


@dataclass(frozen=True)
class Preset:
    """What the presets of a command line come to: those of its data set, and of `online=true`."""

    removed: Sequence[str] = ()
    """Overrides such as `~encoder.forget_bias`, by which Hydra leaves out options that the chosen parts do not have."""
    lines: Sequence[str] = ()
    """For each preset a line that names all that it sets, but for what the command line sets itself."""
    options: Mapping[str, str] = field(default_factory=dict)
    """The preset that each option, or choice of a group, comes from."""


def presets(
    chosen: Mapping[str, str | None], composed: Mapping[str, Any], typed: Collection[str], roots: Sequence[Path]
) -> Preset:
    """Returns what the chosen presets set.

    A preset sets options of the parts that it chooses; with another part that was typed, those that this has not are
    left out. chosen, composed: the choices of all groups, and the options by their dotted names. typed: the options and
    groups of the command line.
    """
    removed: list[str] = []
    lines: list[str] = []
    options: dict[str, str] = {}
    for kind in PRESETS:
        name = chosen.get(kind)
        if name is None:
            continue
        title = f"preset {name}" if kind == "preset" else f"{kind}={name}"
        values: list[str] = []
        for key, value in _preset_values(kind, name, roots).items():
            group = "" if key in chosen else _group_of(key, chosen)
            if key in typed:
                continue
            if group and not _fits(key, group, chosen[group], roots):
                removed.append(f"~{key}")
                continue
            if (chosen if key in chosen else composed).get(key) != value:  # an experiment's, or another preset's
                continue
            values.append(f"{key}={as_typed(value)}")
            options[key] = title
        lines.append(f"{title}: {', '.join(values)}")
    return Preset(tuple(dict.fromkeys(removed)), lines, options)


def _preset_values(kind: str, name: str, roots: Sequence[Path]) -> dict[str, Any]:
    """Returns the choices and the options of a preset's file, by their names, and before them those of the files that
    it is made on."""
    file = next(path for root in roots if (path := root / kind / f"{name}.yaml").is_file())
    plain = cast(dict[str, Any], OmegaConf.to_container(OmegaConf.load(file), resolve=False))
    values: dict[str, Any] = {}
    for default in plain.pop("defaults", []):
        if isinstance(default, str) and default != "_self_":
            values |= _preset_values(kind, default, roots)
        elif isinstance(default, dict):
            values |= {key.removeprefix("override /"): choice for key, choice in default.items()}
    return values | dict(flat(plain))


def _group_of(key: str, chosen: Mapping[str, str | None]) -> str:
    """Returns the innermost of the groups that an option of this dotted name may be of; none of root options."""
    names = key.split(".")
    inner = ("/".join(names[:count]) for count in range(len(names) - 1, 0, -1))
    return next((group for group in inner if group in chosen), "")


def _fits(key: str, group: str, choice: str | None, roots: Sequence[Path]) -> bool:
    """Returns whether the chosen file of a group has an option of this dotted name."""
    file = next(path for root in roots if (path := root / group / f"{choice}.yaml").is_file())
    return _has_option(file, key.split(".")[group.count("/") + 1 :])


def check_choice(override: Override, roots: Sequence[Path]) -> None:
    """Raises UserError for `group=choice` where the group has no such file; Hydra would ignore it in an optional group.

    override: of one job; those of a sweep are expanded before.
    """
    group = override.key_or_group
    typed = override.input_line or ""
    new = _RENAMED.get(typed) or (group in _RENAMED and typed.replace(group, _RENAMED[group], 1))
    if new:
        raise UserError(f"{typed} is called {new} now: write that")
    if group not in groups(roots):
        return
    known = choices(group, roots)
    value = override.value()
    if override.is_delete():
        if group not in OPTIONAL:
            raise UserError(f"~{group} leaves nothing chosen: write {group}=CHOICE; choices: {', '.join(known)}")
        return
    if value is None and group in OPTIONAL:
        raise UserError(f"{group}=null is no file: to leave the {group} out, write ~{group}")
    # A list, too, which Hydra would merge into one configuration.
    if not (isinstance(value, str) and value in known):
        raise UserError(invalid_choice(group, (override.input_line or "").partition("=")[2], known))
