"""Decides what may change when a run is resumed, and configures it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mt.cli.choices import CONF
from mt.cli.overrides import parse_overrides
from mt.common.options import as_typed, flat, parse
from mt.config import Config
from mt.errors import UserError, shown
from mt.search.revision import limited_as, revised_search

_RESUMABLE_TRAINING = (
    *("epochs", "max_updates", "patience", "average_checkpoints", "save_every", "log_every"),
    *("plots", "plot_words", "plot_format"),
)
RESUMABLE = ("device", *(f"training.{name}" for name in _RESUMABLE_TRAINING))
"""Options that may change when a run is resumed, besides those of search: none alters what an update does."""


def resumed_config(config: Config, overrides: Sequence[str]) -> Config:
    """Returns a checkpoint's configuration with what a command line with `resume=RUN` changes: how long to train, how
    to decode, where to run. Raises UserError for other options."""
    plain = config.model_dump(mode="json")
    search: dict[str, Any] = {}
    for override in parse_overrides(overrides, [CONF]):
        key = "search.name" if override.key_or_group == "search" else override.key_or_group
        if key in ("resume", "folder", "corpora"):
            continue
        part, _, option = key.rpartition(".")
        if override.is_delete() or (key not in RESUMABLE and part != "search"):
            raise UserError(
                f"{key} cannot change when a run is resumed, since it would be another run: leave it out, or start a "
                f"new run (search.* and {', '.join(RESUMABLE)} can change)"
            )
        (search if part == "search" else plain[part] if part else plain)[option] = override.value()
    revised = parse(plain, type(config))
    return revised.model_copy(update={"search": revised_search(config.search, search)})


def continued_config(config: Config, trained: Config, folder: Path) -> Config:
    """Returns the configuration of a command line that goes on with a run (`resume=auto`).

    config: as it was composed. trained: that of the run's checkpoint. Raises UserError where they differ in more than
    may change on the way.
    """
    options = dict(flat(config.model_dump(mode="json")))
    trained_options = dict(flat(trained.model_dump(mode="json")))
    for key in sorted(options.keys() | trained_options.keys()):
        value = options.get(key)
        trained_value = trained_options.get(key)
        if value != trained_value and key not in RESUMABLE and not key.startswith("search."):
            written, trained_as = (shown(as_typed(each)) for each in (value, trained_value))
            raise UserError(
                f"{folder} was trained with {key}={trained_as}, and {key}={written} would be another run: leave it as "
                "it was, or give another folder="
            )
    return config.model_copy(update={"search": limited_as(config.search, trained.search)})
