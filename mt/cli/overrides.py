"""What is typed: `group=choice` and `key=value`, read by Hydra's parser; and Hydra's complaints as sentences."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, OverrideParseException
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from mt.cli.choices import CONF, choices, groups, having
from mt.cli.typed import unreadable
from mt.errors import UserError, nearest, shown


class _Choices:
    """What Hydra's parser asks for the choices of a group, for `group=glob(*)`."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots

    def get_group_options(self, group: str, results_filter: Any = None) -> list[str]:
        return choices(group, self._roots)


def parsed(lines: Sequence[str], roots: Sequence[Path]) -> list[Override]:
    """Returns the overrides of a command line. roots: folders of configuration files."""
    # Of a loader it uses one method.
    parser = OverridesParser.create(config_loader=cast(ConfigLoader, _Choices(roots)))
    overrides: list[Override] = []
    for line in lines:
        try:
            overrides += parser.parse_overrides([line])
        except (HydraException, ValueError, RecursionError):  # a number of 10,000 digits, lists 1,000 deep
            raise UserError(unreadable(line)) from None
    return overrides


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Raises what Hydra and OmegaConf complain about inside as a UserError."""
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(_sentence(error)) from None
    except RecursionError:
        raise UserError("a value has lists within lists within lists, too deep to be read: write a flat one") from None


def _sentence(error: Exception) -> str:
    if isinstance(error, OverrideParseException):
        return unreadable(error.override)
    if isinstance(cause := error.__cause__, ConfigKeyError | ConfigAttributeError) and cause.full_key:
        within, _, wrong = cause.full_key.rpartition(".")
        if within and (elsewhere := having(cause.full_key, [CONF])):
            names = " or ".join(elsewhere)
            return f"unknown option {shown(cause.full_key)} here: it is an option of {names}; add that, or leave it out"
        siblings = cause.parent_node
        known = {str(key) for key in siblings} if isinstance(siblings, Mapping) and siblings else set()
        if not within:
            known = {*known, *groups([CONF])} - {"hydra"}
        if known:
            return f"unknown option {shown(cause.full_key)}: {nearest(wrong, known - {wrong})}"
        return f"unknown option {shown(cause.full_key)}: {within} has no options"
    if isinstance(error, OmegaConfBaseException) and error.full_key:
        return f"{error.full_key} cannot be read ({_first_line(error)}): give it a plain value"
    if cause is not None and (merging := re.match("Error merging override (.*)", str(error))):
        return f"{shown(merging[1])} is not possible ({_first_line(cause)}): give a value of the option's kind"
    if primary := re.match("Cannot find primary config '(.*?)'", str(error)):
        return f"--config-name {shown(primary[1])} is no configuration file of ours or of yours: leave it out"
    return " ".join(str(error).split())


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
