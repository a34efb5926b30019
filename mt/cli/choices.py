"""`group=choice`: which groups and choices there are, and the refusal of all others before anything is composed."""

from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.types import Override
from omegaconf import OmegaConf

from mt.errors import UserError, invalid_choice

# In the wheel it is a part of the package, in a clone it stands beside it.
CONF = next(path for parent in Path(__file__).parents[1:3] if (path := parent / "conf").is_dir())
RECIPE_CHOICES = "choices"
"""The key of a recipe that says what else is chosen: Hydra lets no file that it finds by interpolation say so."""
OPTIONAL = ("recipe", "experiment")
"""Groups of which nothing need be chosen."""


def groups(roots: Sequence[Path]) -> list[str]:
    """Groups such as `attention` and `attention/energy`, below any of the folders of configuration files."""
    found = {path.relative_to(root).as_posix() for root in roots for path in root.rglob("*") if path.is_dir()}
    return sorted(group for group in found if "__pycache__" not in group)


def choices(group: str, roots: Sequence[Path]) -> list[str]:
    return sorted({path.stem for root in roots for path in (root / group).glob("*.yaml")})


def implied(overrides: Sequence[Override], roots: Sequence[Path]) -> list[str]:
    """`group=choice` for the groups whose choice the recipe of the data set names under `choices`, as sound needs
    another front-end than text, where `overrides` choose none."""
    chosen = {override.key_or_group: None if override.is_delete() else override.value() for override in overrides}
    recipe = chosen.get("recipe", chosen.get("dataset"))
    files = [root / "recipe" / f"{recipe}.yaml" for root in roots]
    for file in files:
        if file.is_file():
            named = OmegaConf.to_container(OmegaConf.load(file)).get(RECIPE_CHOICES, {})  # type: ignore[union-attr]
            return [f"{group}={choice}" for group, choice in named.items() if group not in chosen]
    return []


def check_choice(override: Override, roots: Sequence[Path]) -> None:
    """Refuses `group=choice` where the group has no such file; Hydra would ignore it in an optional group.

    override: of one job; those of a sweep are expanded before.
    """
    group = override.key_or_group
    if group not in groups(roots):
        return
    known, value = choices(group, roots), override.value()
    if override.is_delete():
        if group not in OPTIONAL:
            raise UserError(f"~{group} leaves nothing chosen: write {group}=CHOICE; choices: {', '.join(known)}")
        return
    if value is None and group in OPTIONAL:
        raise UserError(f"{group}=null is no file: to leave the {group} out, write ~{group}")
    # A list, too, which Hydra would merge into one configuration.
    if not (isinstance(value, str) and value in known):
        raise UserError(invalid_choice(group, (override.input_line or "").partition("=")[2], known))
