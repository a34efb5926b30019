"""`group=choice`: which groups and choices there are, and the refusal of all others before anything is composed."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, cast

from hydra.core.override_parser.types import Override
from omegaconf import OmegaConf

from mt.errors import UserError, invalid_choice

# In the wheel it is a part of the package, in a clone it stands beside it.
CONF = next(path for parent in Path(__file__).parents[1:3] if (path := parent / "conf").is_dir())
RECIPE_KEYS = ("choices", "with")
"""What of a recipe says what else is chosen, and what is set with some choices: Hydra lets no file that it finds by
interpolation say so."""
OPTIONAL = ("recipe", "experiment")
"""Groups of which nothing need be chosen."""


def groups(roots: Sequence[Path]) -> list[str]:
    """Groups such as `attention` and `attention/energy`, below any of the folders of configuration files."""
    found = {path.relative_to(root).as_posix() for root in roots for path in root.rglob("*") if path.is_dir()}
    # What is chosen in Hydra's own groups is Hydra's to check.
    return sorted(group for group in found if "__pycache__" not in group and group.split("/")[0] != "hydra")


def choices(group: str, roots: Sequence[Path]) -> list[str]:
    return sorted({path.stem for root in roots for path in (root / group).glob("*.yaml")})


def having(key: str, roots: Sequence[Path]) -> list[str]:
    """The choices, such as `attention=mocha`, that have an option of this dotted name. Data sets have the same ones."""
    for group in sorted({*groups(roots)} - {*OPTIONAL, "dataset"}, key=len, reverse=True):
        prefix = group.replace("/", ".") + "."
        if key.startswith(prefix):
            files = {choice: path for root in roots for choice, path in _files(group, root).items()}
            path = key.removeprefix(prefix)
            loaded = {choice: OmegaConf.load(file) for choice, file in sorted(files.items())}
            found = [f"{group}={one}" for one, options in loaded.items() if _has(options, path.split("."))]
            if found:
                return found
    return []


def _files(group: str, root: Path) -> dict[str, Path]:
    return {path.stem: path for path in (root / group).glob("*.yaml")}


def _has(options: Any, path: Sequence[str]) -> bool:
    """Whether there is an option of this name, of itself or below others; without the interpolations of others."""
    plain = OmegaConf.to_container(options, resolve=False)
    for name in path:
        if not isinstance(plain, dict) or name not in plain:
            return False
        plain = plain[name]
    return True


def implied(overrides: Sequence[Override], roots: Sequence[Path]) -> list[str]:
    """What the recipe of the data set says beyond values, as arguments: under `choices` the choice of other groups, as
    sound needs another front-end than text; under `with`, where no experiment is chosen, what is to be set with a
    choice, as few have the same options. What `overrides` say goes before it."""
    given = {override.key_or_group: None if override.is_delete() else override.value() for override in overrides}
    recipe = given.get("recipe", given.get("dataset"))
    files = [root / "recipe" / f"{recipe}.yaml" for root in roots]
    for file in files:
        if file.is_file():
            read = OmegaConf.to_container(OmegaConf.load(file))
            named, fitting = (cast(dict[str, Any], read).get(key, {}) for key in RECIPE_KEYS)
            chosen = [f"{group}={choice}" for group, choice in {**named, **given}.items()]
            further = [] if given.get("experiment") else chain(*(fitting.get(one, []) for one in chosen))
            lines = [*(f"{group}={choice}" for group, choice in named.items()), *further]
            return [line for line in lines if line.partition("=")[0] not in given]
    return []


def check_choice(override: Override, roots: Sequence[Path]) -> None:
    """Refuses `group=choice` where the group has no such file; Hydra would ignore it in an optional group.

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
