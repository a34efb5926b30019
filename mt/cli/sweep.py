"""Makes the jobs of a sweep of one command line, each in a folder that is named by what differs. Runs them here, or
elsewhere by one of Hydra's launchers, such as submitit's."""

import itertools
import math
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.experimental.callback import Callback
from hydra.types import HydraContext
from omegaconf import DictConfig

from mt.cli.choices import CONF, Preset
from mt.common.about import install
from mt.common.terminal import say
from mt.errors import UserError, first_line, reported, sentence, shown, visible

MAX_JOBS = 10_000
_LONGEST_NAME = 120


@dataclass
class Job:
    """A job of a command line: one of several in a sweep."""

    overrides: list[str]
    """`key=value`, each with one value, as the user typed them."""
    differs: dict[str, str] = field(default_factory=dict)
    """The options whose values are not the same in all jobs."""
    added: list[str] = field(default_factory=list)
    """Further overrides, which nobody typed."""
    presets: Preset = field(default_factory=Preset)
    """What the chosen presets set."""
    outcome: str = "not run"

    @property
    def title(self) -> str:
        """Returns what tells the job from the others of its sweep."""
        return " ".join(f"{key}={shown(value)}" for key, value in self.differs.items()) or " ".join(self.overrides)


def expand(overrides: Sequence[Override]) -> list[Job]:
    """Returns a job for every combination of the values of a sweep; the last option changes fastest."""
    # Jobs are counted before any is made, since a few long lists multiply to millions.
    values = [_values(override) for override in overrides]
    if math.prod(map(len, values)) > MAX_JOBS:
        raise UserError(f"this sweep has more than {MAX_JOBS:,} jobs: give fewer values")
    jobs = []
    # Options with several values tell the jobs apart, and will name their folders.
    for combination in itertools.product(*values):
        differs = {
            override.key_or_group: value
            for override, value, all_values in zip(overrides, combination, values, strict=True)
            if len(all_values) > 1
        }
        # Options with one value are repeated in every job as they were typed.
        lines = [
            f"{override.get_key_element()}={value}" if override.is_sweep_override() else value
            for override, value in zip(overrides, combination, strict=True)
        ]
        jobs.append(Job(lines, differs))
    return jobs


def _values(override: Override) -> list[str]:
    """Returns the values of a sweep; of what is none, the override itself."""
    if not override.is_sweep_override():
        return [override.input_line or ""]
    if not override.is_discrete_sweep():
        raise UserError(
            f"{override.input_line} is no list of values: write {override.key_or_group}=A,B,C, or range(1,4)"
        )
    values = list(itertools.islice(override.sweep_string_iterator(), MAX_JOBS + 1))
    if not values:
        raise UserError(f"{override.input_line} has no values: write {override.key_or_group}=A,B,C")
    return values


def folder_of(job: Job, composed: Path) -> Path:
    """Returns the folder of a job: what differs is a part of its name, but for what the folders above it say. composed:
    the folder of a single run, `.../<dataset>/<attention>/<time>`; where the user gave another, jobs get folders in it.
    """
    chosen = any(line.startswith("folder=") for line in job.overrides)
    differs = {key: value for key, value in job.differs.items() if chosen or key not in ("dataset", "attention")}
    if not differs or "folder" in differs:
        return composed
    return composed / _name(differs) if chosen else composed.with_name(f"{_name(differs)}_{composed.name}")


def _name(differs: dict[str, str]) -> str:
    """Returns such as `seed-1+lr-0.001`: a name that every file system takes, and the command line without quotes."""
    shorts = {key: re.split(r"[./]", key)[-1] for key in differs}
    counts = Counter(shorts.values())
    settings = []
    for key, value in differs.items():
        name = shorts[key] if counts[shorts[key]] == 1 else key
        plain = re.sub(r"^[^\w.-]+|[^\w.-]+$", "", value, flags=re.ASCII)
        settings.append(re.sub(r"[^\w.-]+", "-", f"{name}-{plain}", flags=re.ASCII))
    return "+".join(settings)[:_LONGEST_NAME]


def run_all(jobs: Sequence[Job], run: Callable[[Job], None]) -> bool:
    """Runs every job, whatever becomes of the others, and prints at the end what became of each. Returns whether all
    succeeded."""
    try:
        for number, job in enumerate(jobs, start=1):
            say(f"\njob {number} of {len(jobs)}: {visible(job.title)}", sys.stderr)
            job.outcome = "interrupted"
            job.outcome = _outcome(partial(run, job))
    finally:
        succeeded = _print_outcomes(jobs)
    return succeeded


def _outcome(call: Callable[[], None]) -> str:
    """Calls, and prints what it raises: a sentence where a user can mend it, else the trace. Returns the outcome."""
    try:
        call()
    except (UserError, OSError) as error:
        told = shown(sentence(error), limit=1000)
        print(f"error: {told}", file=sys.stderr, flush=True)
        return f"failed: {told}"
    except Exception as error:
        traceback.print_exc()
        return f"failed: {type(error).__name__}: {shown(sentence(error), limit=1000)}"
    return "done"


def _print_outcomes(jobs: Sequence[Job]) -> bool:
    undone = sum(job.outcome != "done" for job in jobs)
    say(f"\n{len(jobs)} jobs, {undone} of them not done" if undone else f"\n{len(jobs)} jobs, all done")
    width = max(len(visible(job.title)) for job in jobs)
    for number, job in enumerate(jobs, start=1):
        say(f"  {number:>{len(str(len(jobs)))}}  {visible(job.title):<{width}}  {job.outcome}")
    return not undone


# Jobs that run elsewhere.

_PLUGIN = "hydra-submitit-launcher"


def require_launcher(options: Sequence[Override]) -> None:
    """Raises UserError where options of Hydra ask for what is not installed, or cannot be obeyed."""
    for option in options:
        if option.key_or_group.startswith(("hydra/sweeper", "hydra.sweeper")):
            line = shown(option.input_line or "")
            raise UserError(f"{line} cannot be obeyed, as -m makes the jobs itself: leave it out, or write KEY=A,B")
        if option.key_or_group == "hydra/launcher" and str(option.value()).startswith("submitit"):
            try:
                distribution(_PLUGIN)
            except PackageNotFoundError:
                raise UserError(
                    f"hydra/launcher=submitit_... needs {_PLUGIN}, which is not installed: {install('slurm')}, or pip "
                    "install -e '.[slurm]' in a clone"
                ) from None


def launch(composed: DictConfig, jobs: Sequence[Job], run: Callable[[Job], None]) -> bool:
    """Hands all jobs to the launcher, and prints at the end what became of each, as `run_all` does. composed: a
    configuration with Hydra's part, which chooses the launcher."""
    with initialize_config_dir(str(CONF), job_name="mt", version_base="1.3"):
        context = HydraContext(GlobalHydra.instance().config_loader(), Callback())  # type: ignore[arg-type]  # does nothing
    launcher = Plugins.instance().instantiate_launcher(context, partial(_run_launched, jobs, run), composed)
    try:
        # Each job composes its configuration where it runs, so the launcher has nothing to compose.
        returns = launcher.launch([[] for _ in jobs], 0)
    except Exception as error:
        raise UserError(
            f"the launcher could not run all jobs ({shown(first_line(error), limit=300)}): what they wrote is in "
            f"{composed.hydra.sweep.dir}/.submitit where it is submitit's; jobs that run already go on"
        ) from error
    for job, returned in zip(jobs, returns, strict=True):
        job.outcome = returned.return_value
    return _print_outcomes(jobs)


def _run_launched(jobs: Sequence[Job], run: Callable[[Job], None], _: Any) -> str:
    with reported():  # an interrupt, which is no result: whoever puts the job into the queue again needs the status
        return _outcome(partial(run, jobs[HydraConfig.get().job.num]))
    raise AssertionError("`reported` ends the process")
