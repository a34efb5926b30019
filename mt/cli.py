"""From the command line to plain data: Hydra composes, and its complaints become sentences. For entry points alone."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra.errors import ConfigCompositionException, HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mt.config import Config, parse
from mt.errors import UserError, nearest, reported

CONF = Path(__file__).parents[1] / "conf"


def compose(main: Callable[[dict[str, Any], list[str]], None], name: str) -> None:
    """Calls `main(plain, overrides)` with the composition of `conf/<name>.yaml` and the command line, for each job of a sweep.

    plain: the resolved configuration; overrides: the `key=value` arguments. What a user can mend ends as one sentence.
    """

    def task(composed: DictConfig) -> None:
        overrides = list(hydra.core.hydra_config.HydraConfig.get().overrides.task)
        plain = OmegaConf.to_container(composed, resolve=True)
        with reported():
            main(plain, overrides)  # type: ignore[arg-type] - a mapping at the root

    # Otherwise Hydra prints its own report and ends the process.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    with reported():
        try:
            hydra.main(version_base="1.3", config_path=str(CONF), config_name=name)(task)()
        except (HydraException, OmegaConfBaseException) as error:
            raise UserError(_sentence(error)) from None


def merged(config: Config, overrides: Sequence[str]) -> Config:
    """A checkpoint's configuration with what may change on the way: how long to train, how to decode, where to run."""
    plain = OmegaConf.create(config.model_dump(mode="json"))
    for override in overrides:
        key, _, value = override.partition("=")
        if key in ("resume", "folder"):
            continue
        if not key.startswith(("training.", "search.", "device")):
            raise UserError(
                f"{key} cannot change when a run is resumed, since it would be another run: leave it out, or start a new run"
            )
        OmegaConf.update(plain, key, OmegaConf.create(f"value: {value}").value)
    return parse(OmegaConf.to_container(plain))


def _sentence(error: Exception) -> str:
    if isinstance(error, MissingConfigException) and error.options is not None:
        group, _, choice = str(error.missing_cfg_file).rpartition("/")
        return f"{group}={choice} is no choice: {nearest(choice, error.options)}"
    if isinstance(error, ConfigCompositionException) and (found := re.search(r"override '([^']+)'", str(error))):
        key = found[1].lstrip("+~").split("=")[0]
        return f"unknown option {key}: {nearest(key, _known_keys())}"
    return " ".join(str(error).split())


def _known_keys() -> list[str]:
    return []
