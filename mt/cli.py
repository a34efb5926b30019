"""From the command line to plain data: Hydra composes, and its complaints become sentences. For entry points alone."""

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mt.errors import UserError, nearest, reported
from mt.parsing import parse

if TYPE_CHECKING:  # preparation comes this way too, and would wait for torch
    from mt.config import Config

CONF = Path(__file__).parents[1] / "conf"
_RESUMABLE_TRAINING = ("epochs", "max_updates", "patience", "average", "save_every", "log_every", "plots")
RESUMABLE = ("device", *(f"training.{name}" for name in _RESUMABLE_TRAINING))
"""Options that may change when a run is resumed, besides those of search: none alters what an update does."""


def compose(main: Callable[[dict[str, Any], list[str]], None], name: str) -> None:
    """Calls `main(plain, overrides)` with what `conf/<name>.yaml` and the command line say, for each job of a sweep.

    plain: the resolved configuration; overrides: the `key=value` arguments. What a user can mend ends as one sentence.
    """

    def task(composed: DictConfig) -> None:
        # Here too: Hydra would write a line of its own about an exception that leaves the task.
        with reported(), _translated():
            main(_plain(composed), list(HydraConfig.get().overrides.task))

    # Otherwise Hydra prints a report of its own and ends the process.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    with reported(), _translated():
        _check_choices(sys.argv[1:])
        hydra.main(version_base="1.3", config_path=str(CONF), config_name=name)(task)()


def merged(config: "Config", overrides: Sequence[str]) -> "Config":
    """A checkpoint's configuration with what may change on the way: how long to train, how to decode, where to run."""
    changes = []
    for override in overrides:
        key = override.partition("=")[0]
        if key in ("resume", "folder"):
            continue
        if key not in RESUMABLE and not key.startswith("search."):
            raise UserError(
                f"{key} cannot change when a run is resumed, since it would be another run: leave it out, or start a "
                f"new run (search.* and {', '.join(RESUMABLE)} can change)"
            )
        changes.append(override)
    return parse(_plain(OmegaConf.merge(config.model_dump(mode="json"), OmegaConf.from_dotlist(changes))), type(config))


def save_composed(composed: Mapping[str, Any], folder: Path) -> None:
    """Writes `config.yaml`: what was composed for a run."""
    OmegaConf.save(OmegaConf.create(dict(composed)), folder / "config.yaml")


def _plain(composed: Any) -> dict[str, Any]:
    return cast(dict[str, Any], OmegaConf.to_container(composed, resolve=True))


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(_sentence(error)) from None


def _check_choices(arguments: Sequence[str]) -> None:
    """Refuses `group=choice` where the group has no such file: before a sweep begins, and in optional groups too."""
    for argument in arguments:
        group, _, choices = argument.lstrip("+").partition("=")
        # What is no plain list of names, such as choice(...), is Hydra's to understand.
        if re.fullmatch(r"[\w.,-]+", choices) and group in _groups():
            known = [path.stem for path in (CONF / group).glob("*.yaml")]
            for choice in choices.split(","):
                if choice not in known:
                    raise UserError(f"{group}={choice} is no choice: {nearest(choice, known)}")


def _sentence(error: Exception) -> str:
    if isinstance(error, OverrideParseException):
        return (
            f"{error.override} cannot be read: write group=choice or key=value, and put a value with brackets, commas "
            "or equals signs into quotes"
        )
    if isinstance(cause := error.__cause__, OmegaConfBaseException) and cause.full_key:
        within, _, wrong = cause.full_key.rpartition(".")
        siblings = cause.parent_node
        known = {str(key) for key in siblings} if isinstance(siblings, Mapping) and siblings else set()
        if not within:
            known = {*known, *_groups()} - {"hydra"}
        if known:
            return f"unknown option {cause.full_key}: {nearest(wrong, known)}"
        return f"unknown option {cause.full_key}: {within} has no options"
    return " ".join(str(error).split())


def _groups() -> list[str]:
    return [path.relative_to(CONF).as_posix() for path in CONF.rglob("*") if path.is_dir()]
