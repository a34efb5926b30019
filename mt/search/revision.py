"""Searches that differ from a configured one in some options. Needs no torch."""

from collections.abc import Mapping
from typing import Any

from mt.common.options import Options, parse
from mt.errors import UserError
from mt.search.config import SEARCHES, BeamConfig, SampleConfig, SearchConfig, is_online


class _Group(Options):
    """Gives the sentences of errors the names that options have in YAML."""

    search: SearchConfig


def revised_search(config: SearchConfig, changes: Mapping[str, Any]) -> SearchConfig:
    """Returns a configuration with some options changed.

    A change of `name` leaves out the options that the search so named does not have, unless they are among `changes`.
    A changed limit of length replaces the limit before: `max_length` replaces `max_ratio` and `max_extra`, and
    `max_ratio` replaces `max_length`. Raises UserError for what is impossible.
    """
    fields = set(SEARCHES.get(changes.get("name", config.name), type(config)).model_fields)
    if changes.get("max_ratio") is not None:
        fields -= {"max_length"}
    elif changes.get("max_length") is not None:
        fields -= {"max_ratio", "max_extra"}
    plain = {name: value for name, value in config.model_dump(mode="json").items() if name in fields}
    return parse({"search": plain | dict(changes)}, _Group).search


def n_best_search(config: SearchConfig, n: int) -> SearchConfig:
    """Returns a search that reports `n` hypotheses of each source: of samples at least so many are drawn; any other
    search becomes that of a beam, at least so wide."""
    if isinstance(config, SampleConfig):
        return revised_search(config, {"samples": max(n, config.samples), "n_best": n})
    beam_size = max(n, getattr(config, "beam_size", BeamConfig().beam_size))
    return revised_search(config, {"name": "beam", "beam_size": beam_size, "n_best": n})


def with_default_limits(config: SearchConfig, usual: SearchConfig) -> SearchConfig:
    """Returns this search with the limits of length of the usual one, unless it has its own."""
    if config.limited or not usual.limited:
        return config
    limits = usual.model_dump(mode="json", include={"max_ratio", "max_extra", "max_length"})
    return parse({"search": limits | config.model_dump(mode="json", exclude_none=True)}, _Group).search


def require_search(search: object) -> None:
    """Raises UserError for what is no configuration of a search."""
    if not isinstance(search, tuple(SEARCHES.values())):
        raise UserError(
            f"search is of type {type(search).__name__}: give a configuration of mt.search.config, such as "
            "BeamConfig(beam_size=5)"
        )


def online_search(config: SearchConfig) -> SearchConfig:
    """Returns this search where it writes while it reads, else online search with the options that both have."""
    return config if is_online(config) else revised_search(config, {"name": "online"})
