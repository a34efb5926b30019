"""Runs the jobs of a sweep elsewhere: on a cluster, by submitit, or by another of Hydra's launchers."""

import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.core.utils import JobStatus
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from mt.cli.choices import CONF, search_path
from mt.cli.sweep import Job, failure_of, outcome, print_outcomes
from mt.common.about import install
from mt.errors import UserError, first_line, reported, shown

GROUP = "hydra/launcher"
_PLUGIN = "hydra-submitit-launcher"

Call = Callable[[Job, DictConfig], None]
"""Does a job with what was composed for it."""


def chosen(overrides: Sequence[Override]) -> bool:
    """Returns whether a launcher is chosen for the jobs of a sweep; a sweeper of Hydra's plugins makes its own jobs."""
    keys = [one.key_or_group for one in overrides]
    return GROUP in keys and not any(key.startswith(("hydra/sweeper", "hydra.sweeper")) for key in keys)


def launch(name: str, jobs: Sequence[Job], options: Sequence[Override], roots: Sequence[Path], call: Call) -> bool:
    """Hands all jobs to the launcher, and prints at the end what became of each, as `run_all` does.

    options: Hydra's, which choose the launcher. Returns whether all jobs succeeded. Raises UserError where the launcher
    is not installed, or cannot run the jobs.
    """
    _require_installed(options)
    lines = [*search_path(roots), *(one.input_line or "" for one in options)]
    with initialize_config_dir(str(CONF), job_name="mt", version_base="1.3"), warnings.catch_warnings():
        # The plugin has a schema of the name that our choice has to have.
        warnings.filterwarnings("ignore", rf"\s*'{GROUP}/\w+' is validated against ConfigStore", UserWarning)
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        config = hydra.compose_config(name, lines, RunMode.MULTIRUN)
        context = HydraContext(hydra.config_loader, Callbacks(config))
        launcher = Plugins.instance().instantiate_launcher(context, lambda composed: _do(jobs, call, composed), config)
        try:
            returns = launcher.launch([[*job.overrides, *job.added] for job in jobs], 0)
        except Exception as error:
            raise UserError(
                f"the launcher could not run all jobs ({shown(first_line(error), limit=300)}): what they wrote is in "
                f"{config.hydra.sweep.dir}/.submitit where it is submitit's; jobs that run already go on"
            ) from error
    for job, returned in zip(jobs, returns, strict=True):
        job.outcome = outcome(None if returned.status == JobStatus.COMPLETED else returned._return_value)
    return print_outcomes(jobs)


def _require_installed(options: Sequence[Override]) -> None:
    if any(one.key_or_group == GROUP and str(one.value()).startswith("submitit") for one in options):
        try:
            distribution(_PLUGIN)
        except PackageNotFoundError:
            raise UserError(
                f"hydra/launcher=submitit_... needs {_PLUGIN}, which is not installed: {install('slurm')}, or pip "
                "install -e '.[slurm]' in a clone"
            ) from None


def _do(jobs: Sequence[Job], call: Call, composed: DictConfig) -> None:
    """Does one of the jobs, where the launcher runs it. The launcher keeps what is raised, and prints nothing."""
    with reported():  # an interrupt, which is no result: whoever puts the job into the queue again needs the status
        failure = failure_of(lambda: call(jobs[HydraConfig.get().job.num], composed))
    if failure is not None:
        raise failure
