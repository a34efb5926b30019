"""Runs a command whose options Hydra composes from `conf/` and the command line.

Hydra reads the command line, composes the options, makes the folder of a job, and starts sweeps. A job gets plain data.
An error that a user can mend is one sentence, without a traceback.
"""

import contextlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import hydra
import yaml
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mt.common.input_files import read_bytes
from mt.errors import UserError, first_line, message_of, reported, sentence, shown, within_memory
from mt.storage import write_text

# In the wheel it is a part of the package, in a clone it stands beside it.
CONF = next(path for parent in Path(__file__).parents[1:3] if (path := parent / "conf").is_dir())
"""The folder of the configuration files."""
STATUS = 1
"""The exit status of a refusal, which is Hydra's."""
_FOLDER_FLAGS = ("--config-dir", "-cd", "--config-path", "-cp")
"""Flags of Hydra with a folder of configuration files."""
_MOST_VALUES = 100_000
"""The most values of a configuration file, counted with each alias in full."""

Job = Callable[[dict[str, Any], list[str]], float | None]
"""A function that does a job, given its plain configuration and its overrides (`key=value`). A sweeper that looks for
good options, such as Optuna's, goes by what it returns."""


def run_composed(name: str, job: Job, arguments: Sequence[str]) -> None:
    """Calls `job` with the options of `conf/<name>.yaml` and the command line. A sweep calls it once for each
    combination.

    An error that a user can mend is printed as one sentence, and the exit status is 1. In a sweep, the other jobs run
    first. Call it inside of `reported`.
    """
    raised: list[BaseException] = []

    def main(composed: DictConfig) -> float | None:
        # As they were typed: an interpolation (`${...}`) in one is resolved in the composed options, not here.
        overrides = cast(list[str], OmegaConf.to_container(HydraConfig.get().overrides.task, resolve=False))
        # The error of a single job is kept and raised below, since Hydra would print it in its own words.
        if not is_sweep():
            try:
                job(_plain(composed), overrides)
            except BaseException as error:
                raised.append(error)
            return None
        # An error of a job of a sweep is printed here, and the other jobs go on.
        try:
            with within_memory():
                return job(_plain(composed), overrides)
        except (UserError, OSError) as error:
            print(f"error: {shown(sentence(error), 1000)}", file=sys.stderr, flush=True)
            raise  # Hydra raises it again once all jobs have run
        except KeyboardInterrupt:
            with reported(STATUS):  # a launcher may run the job in a process of its own, whose status a queue looks at
                raise

    _require_bounded(arguments)
    # Hydra reads sys.argv. Its parser takes the overrides in one piece only, so they come first.
    overrides = [word for word in arguments if word[:1] == "~" or ("=" in word and word[0] != "-")]
    sys.argv = [sys.argv[0], *map(_with_home, overrides), *(word for word in arguments if word not in overrides)]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises errors, and prints no tracebacks
    with _as_sentences():
        hydra.main(version_base="1.3", config_path=str(CONF), config_name=name)(main)()
    if raised:
        raise raised[0]


@contextlib.contextmanager
def _as_sentences() -> Iterator[None]:
    """Turns errors of Hydra, OmegaConf, YAML and launchers into a UserError with the same message."""
    try:
        yield
    except (HydraException, OmegaConfBaseException, yaml.YAMLError) as error:
        cause = f" ({first_line(error.__cause__)})" if error.__cause__ is not None else ""
        raise UserError(f"{message_of(error)}{cause}") from None
    except RecursionError:  # of Hydra's parser
        raise UserError("an option has lists within lists, too deep to be read: write a flat one") from None
    except (AttributeError, AssertionError) as error:
        # OmegaConf cannot set what belongs below null, such as hydra.sweeper.params. Others are faults of the program.
        if "omegaconf" not in _raised_in(error):
            raise
        raise UserError("an option below one that is null is set in a file: see docs/options.md#sweeps") from None
    except (ValueError, RuntimeError) as error:
        # Hydra and submitit raise common types, too. Only the file tells them from faults of the program.
        raised_in = _raised_in(error)
        if "hydra" in raised_in:  # flags that do not go together
            raise UserError(message_of(error)) from None
        if "submitit" in raised_in:
            raise UserError(
                f"the launcher could not run all jobs ({shown(first_line(error), 300)}): what they wrote is in "
                ".submitit, in the folder of the sweep; jobs that run already go on"
            ) from None
        raise


def _raised_in(error: BaseException) -> tuple[str, ...]:
    """Returns the parts of the path of the file that raised an error."""
    return Path(traceback.extract_tb(error.__traceback__)[-1].filename).parts


def parse_overrides(lines: Sequence[str]) -> list[Override]:
    """Parses overrides (`key=value`) with Hydra's grammar."""
    return OverridesParser.create().parse_overrides(list(lines))


def is_sweep() -> bool:
    """Returns whether the running job belongs to a sweep."""
    return HydraConfig.get().mode == RunMode.MULTIRUN


def output_folder() -> Path:
    """Returns the folder that Hydra has made for the running job."""
    return Path(HydraConfig.get().runtime.output_dir)


def save_composed(composed: Mapping[str, Any], folder: Path) -> None:
    """Writes the composed options of a run to `config.yaml`."""
    write_text(folder / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(dict(composed))).splitlines())


def _plain(composed: DictConfig) -> dict[str, Any]:
    try:
        return cast(dict[str, Any], OmegaConf.to_container(composed, resolve=True))
    except OmegaConfBaseException as error:
        raise UserError(
            f"{error.full_key or 'an option'} cannot be read ({first_line(error)}): give it a plain value"
        ) from None


def _with_home(argument: str) -> str:
    """Replaces a `~` at the beginning of an argument's value by the user's home. A shell leaves it there."""
    return re.sub(r"^([\w./+]+=)~(?=/|$)", lambda match: match[1] + os.path.expanduser("~"), argument)


def _require_bounded(arguments: Sequence[str]) -> None:
    """Raises UserError for a YAML file whose aliases of aliases stand for more values than memory holds, since Hydra
    writes each of them out."""
    words = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--") else [word])]
    folders = [Path(folder) for flag, folder in pairwise(words) if flag in _FOLDER_FLAGS]
    for path in (path for folder in folders for path in sorted(folder.rglob("*.yaml"))):
        with contextlib.suppress(OSError, ValueError, RecursionError, yaml.YAMLError):  # Hydra says what is wrong
            if _count(yaml.compose(read_bytes(path), Loader=yaml.SafeLoader), {}) > _MOST_VALUES:
                raise UserError(f"{path} has aliases of aliases (*name) without end: write there what they stand for")


def _count(node: yaml.Node | None, counted: dict[int, int]) -> int:
    """Counts the values below a node of YAML, an alias like what it stands for. counted: the nodes so far, by `id`."""
    # An alias is the same object as what it stands for, so it is counted once, and added wherever it stands. One
    # that contains itself ends in a RecursionError, which is left to Hydra.
    if id(node) not in counted:
        children = node.value if isinstance(node, yaml.CollectionNode) else []
        # A mapping has pairs of nodes.
        values = [each for child in children for each in (child if isinstance(child, tuple) else [child])]
        counted[id(node)] = 1 + sum(_count(value, counted) for value in values)
    return counted[id(node)]
