"""Composes the groups and choices of `group=choice`, says which there are, and what the chosen presets set."""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import hydra
from hydra import initialize_config_dir
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from mt.common.options import as_typed, flat
from mt.errors import UserError, invalid_choice

# In the wheel it is a part of the package, in a clone it stands beside it.
CONF = next(path for parent in Path(__file__).parents[1:3] if (path := parent / "conf").is_dir())
PRESETS = ("preset", "online")
"""Groups whose files choose in other groups, and set options of several."""
OPTIONAL = (*PRESETS, "experiment")
"""Groups in which there may be no choice."""
_RENAMED = {"recipe": "preset", "attention=concat": "attention=bahdanau", "encoder=embedding": "encoder=none"}
"""Groups and choices that had another name."""


def compose(name: str, lines: Sequence[str], roots: Sequence[Path]) -> DictConfig:
    """Returns what Hydra composes of `conf/<name>.yaml` and overrides, with its own part."""
    with initialize_config_dir(str(CONF), job_name="mt", version_base="1.3"), warnings.catch_warnings():
        # Launchers of plugins have a schema of the name that our choice has to have.
        warnings.filterwarnings("ignore", r"\s*'hydra/launcher/\w+' is validated against ConfigStore", UserWarning)
        # Folders of configuration files that are not ours.
        paths = [f"'file://{root.resolve()}'" for root in roots if root != CONF]
        search_path = [f"hydra.searchpath=[{','.join(paths)}]"] if paths else []
        return hydra.compose(name, [*search_path, *lines], return_hydra_config=True)


def plain_of(composed: DictConfig) -> tuple[dict[str, Any], dict[str, str | None]]:
    """Returns the options, with interpolations as they stand, and the choices of all groups."""
    plain = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=False))
    return plain, plain.pop("hydra")["runtime"]["choices"]


def groups(roots: Sequence[Path]) -> list[str]:
    """Returns groups such as `attention` and `attention/energy`, below any of the folders of configuration files."""
    folders = {path.relative_to(root).as_posix() for root in roots for path in root.rglob("*") if path.is_dir()}
    # What is chosen in Hydra's own groups is Hydra's to check.
    return sorted(group for group in folders if "__pycache__" not in group and group.split("/")[0] != "hydra")


def choices(group: str, roots: Sequence[Path]) -> list[str]:
    """Returns the choices of a group: the names of its files."""
    return sorted({path.stem for root in roots for path in (root / group).glob("*.yaml")})


def file_of(group: str, choice: str | None, roots: Sequence[Path]) -> Path:
    """Returns the file of a choice, of the first folder that has one."""
    return next(path for root in roots if (path := root / group / f"{choice}.yaml").is_file())


def choices_with_option(key: str, roots: Sequence[Path]) -> list[str]:
    """Returns the choices, such as `attention=mocha`, that have an option of this dotted name; none of data sets, which
    all have the same options."""
    known = {*groups(roots)} - {*OPTIONAL, "dataset"}
    for group in (group for group in inner_groups(key) if group in known):
        fitting = [f"{group}={choice}" for choice in choices(group, roots) if _fits(key, group, choice, roots)]
        if fitting:
            return fitting
    return []


def inner_groups(key: str) -> Iterator[str]:
    """Yields the groups that an option of this dotted name may be of, the innermost first."""
    names = key.split(".")
    yield from ("/".join(names[:count]) for count in range(len(names) - 1, 0, -1))


def _fits(key: str, group: str, choice: str | None, roots: Sequence[Path]) -> bool:
    """Returns whether the file of a choice has an option of this dotted name; interpolations have none."""
    options: Any = OmegaConf.to_container(OmegaConf.load(file_of(group, choice, roots)), resolve=False)
    for name in key.split(".")[group.count("/") + 1 :]:
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
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where options, and choices of groups, come from that a preset, or an experiment, sets."""


def presets(
    chosen: Mapping[str, str | None], composed: Mapping[str, Any], typed: Collection[str], roots: Sequence[Path]
) -> Preset:
    """Returns what the chosen presets set. A preset sets options of the parts that it chooses; with another part that
    was typed, those that this has not are left out.

    chosen, composed: the choices of all groups, and the options by their dotted names. typed: those of the command
    line.
    """
    removed: dict[str, None] = {}
    lines: list[str] = []
    origins: dict[str, str] = {}
    in_force = {**composed, **chosen}
    for kind in OPTIONAL:
        if (name := chosen.get(kind)) is None:
            continue
        title = {"preset": f"preset {name}", "experiment": f"conf/experiment/{name}.yaml"}.get(kind, f"{kind}={name}")
        values = {key: value for key, value in _values(kind, name, roots).items() if key not in typed}
        for key in values if kind in PRESETS else ():
            group = next((group for group in inner_groups(key) if group in chosen and key not in chosen), None)
            if group and not _fits(key, group, chosen[group], roots):
                removed[f"~{key}"] = None
        # What has another value is an experiment's, or another preset's.
        kept = [key for key, value in values.items() if f"~{key}" not in removed and in_force.get(key) == value]
        origins |= dict.fromkeys(kept, title)
        if kind in PRESETS:
            lines.append(f"{title}: {', '.join(f'{key}={as_typed(values[key])}' for key in kept)}")
    return Preset([*removed], lines, origins)


def _values(kind: str, name: str, roots: Sequence[Path]) -> dict[str, Any]:
    """Returns the choices and the options of a preset's file, by their names, and before them those of the files that
    it is made on."""
    plain = cast(dict[str, Any], OmegaConf.to_container(OmegaConf.load(file_of(kind, name, roots)), resolve=False))
    values: dict[str, Any] = {}
    for default in plain.pop("defaults", []):
        if isinstance(default, str) and default != "_self_":
            values |= _values(kind, default, roots)
        elif isinstance(default, dict):
            values |= {key.removeprefix("override /"): choice for key, choice in default.items()}
    return values | dict(flat(plain))


def check_choice(override: Override, roots: Sequence[Path]) -> None:
    """Raises UserError for `group=choice` where the group has no such file; Hydra would ignore it in an optional group.
    override: of one job."""
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
        if group in OPTIONAL:
            return
        raise UserError(f"~{group} leaves nothing chosen: write {group}=CHOICE; choices: {', '.join(known)}")
    if value is None and group in OPTIONAL:
        raise UserError(f"{group}=null is no file: to leave the {group} out, write ~{group}")
    # A list, too, which Hydra would merge into one configuration.
    if not (isinstance(value, str) and value in known):
        raise UserError(invalid_choice(group, typed.partition("=")[2], known))
