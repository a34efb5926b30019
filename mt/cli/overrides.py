"""Reads `group=choice` and `key=value` by Hydra's parser, and turns Hydra's complaints into sentences."""

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

from mt.cli.choices import CONF, choices, choices_with_option, groups
from mt.cli.typed import unreadable_sentence
from mt.errors import UserError, first_line, message_of, nearest, shown


class _Choices:
    """Gives Hydra's parser the choices of a group, for `group=glob(*)`."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots

    def get_group_options(self, group: str, results_filter: Any = None) -> list[str]:
        return choices(group, self._roots)


def parse_overrides(lines: Sequence[str], roots: Sequence[Path]) -> list[Override]:
    """Returns the overrides of a command line. roots: folders of configuration files. Raises UserError for a line that
    is no override."""
    # The parser uses one method of a loader.
    parser = OverridesParser.create(config_loader=cast(ConfigLoader, _Choices(roots)))
    overrides: list[Override] = []
    for line in lines:
        try:
            overrides += parser.parse_overrides([line])
        except (HydraException, ValueError, RecursionError):  # a number of 10,000 digits, lists 1,000 deep
            raise UserError(unreadable_sentence(line)) from None
    return overrides


@contextlib.contextmanager
def complaints_as_sentences() -> Iterator[None]:
    """Turns complaints of Hydra and OmegaConf inside into UserErrors."""
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(_sentence(error)) from None
    except RecursionError:
        raise UserError("a value has lists within lists within lists, too deep to be read: write a flat one") from None


def _sentence(error: Exception) -> str:
    """Returns what the user is to read of an error."""
    # An override that is not written by the grammar is shown as it was typed.
    if isinstance(error, OverrideParseException):
        return unreadable_sentence(error.override)
    # An unknown option is answered by the choices that have it, or by the nearest known name.
    if isinstance(cause := error.__cause__, ConfigKeyError | ConfigAttributeError) and cause.full_key:
        parent, _, wrong = cause.full_key.rpartition(".")
        if parent and (elsewhere := choices_with_option(cause.full_key, [CONF])):
            names = " or ".join(elsewhere)
            return f"unknown option {shown(cause.full_key)} here: it is an option of {names}; add that, or leave it out"
        siblings = cause.parent_node
        known = {str(key) for key in siblings} if isinstance(siblings, Mapping) and siblings else set()
        if not parent:
            known = {*known, *groups([CONF])} - {"hydra"}
        if known:
            return f"unknown option {shown(cause.full_key)}: {nearest(wrong, known - {wrong})}"
        return f"unknown option {shown(cause.full_key)}: {parent} has no options"
    # The rest are values that do not fit, and names of configurations that are not there.
    if isinstance(error, OmegaConfBaseException) and error.full_key:
        return f"{error.full_key} cannot be read ({first_line(error)}): give it a plain value"
    if cause is not None and (merging := re.match("Error merging override (.*)", str(error))):
        return f"{shown(merging[1])} is not possible ({first_line(cause)}): give a value of the option's kind"
    if primary := re.match("Cannot find primary config '(.*?)'", str(error)):
        return f"--config-name {shown(primary[1])} is no configuration file of ours or of yours: leave it out"
    return message_of(error)
