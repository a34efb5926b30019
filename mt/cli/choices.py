"""Knows the groups and choices of `group=choice`, and refuses all others before anything is composed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from hydra.core.override_parser.types import Override
from omegaconf import OmegaConf

from mt.errors import UserError, invalid_choice

# In the wheel it is a part of the package, in a clone it stands beside it.
CONF = next(path for parent in Path(__file__).parents[1:3] if (path := parent / "conf").is_dir())
RECIPE_KEYS = ("choices", "with")
"""The keys of a recipe that choose other groups, and that set options with some choices: Hydra lets no file that it
finds by interpolation do so."""
OPTIONAL = ("recipe", "experiment")
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


def recipe_lines(overrides: Sequence[Override], roots: Sequence[Path]) -> list[str]:
    """Returns the arguments that the recipe of a data set adds to a command line.

    Under `choices` a recipe chooses in other groups, as sound needs another front-end than text; under `with` it sets
    options with a choice, as few choices have the same options, unless an experiment is chosen. What `overrides` set is
    left as it is.
    """
    typed = {override.key_or_group: None if override.is_delete() else override.value() for override in overrides}
    recipe = typed.get("recipe", typed.get("dataset"))
    files = (root / "recipe" / f"{recipe}.yaml" for root in roots)
    file = next((path for path in files if path.is_file()), None)
    if file is None:
        return []
    options = cast(dict[str, Any], OmegaConf.to_container(OmegaConf.load(file)))
    chosen, with_choice = (options.get(key, {}) for key in RECIPE_KEYS)
    lines = [f"{group}={choice}" for group, choice in chosen.items()]
    if not typed.get("experiment"):
        for group, choice in {**chosen, **typed}.items():
            lines += with_choice.get(f"{group}={choice}", [])
    return [line for line in lines if line.partition("=")[0] not in typed]


def check_choice(override: Override, roots: Sequence[Path]) -> None:
    """Raises UserError for `group=choice` where the group has no such file; Hydra would ignore it in an optional group.

    override: of one job; those of a sweep are expanded before.
    """
    group = override.key_or_group
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
