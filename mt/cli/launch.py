"""A sweep whose jobs run elsewhere: on a cluster, by submitit, or by another of Hydra's launchers."""

import sys
import traceback
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
from hydra.core.utils import JobReturn, JobStatus
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from mt.cli.choices import CONF
from mt.cli.sweep import Job, failed, tell
from mt.errors import UserError, reported, sentence, shown

GROUP = "hydra/launcher"
_PLUGIN = "hydra-submitit-launcher"

Call = Callable[[int, DictConfig], None]
"""Does the job of this number, with what was composed for it."""


def chosen(overrides: Sequence[Override]) -> bool:
    """Whether a launcher is to run the jobs of the sweep; a sweeper of Hydra's plugins makes them itself."""
    keys = [one.key_or_group for one in overrides]
    return GROUP in keys and not any(key.startswith(("hydra/sweeper", "hydra.sweeper")) for key in keys)


def launch(
    name: str,
    jobs: Sequence[Job],
    further: Sequence[Sequence[str]],
    options: Sequence[Override],
    roots: Sequence[Path],
    call: Call,
) -> bool:
    """Hands all jobs to the launcher, and prints at the end what became of each, as `run_all` does.

    further: arguments of each job that nobody typed. options: Hydra's, which choose the launcher. Returns whether all
    jobs succeeded. Raises UserError where the launcher is not installed, or cannot run the jobs.
    """
    _require_installed(options)
    searched = [f"'file://{root.resolve()}'" for root in roots if root != CONF]
    lines = [f"hydra.searchpath=[{','.join(searched)}]"] if searched else []
    with initialize_config_dir(str(CONF), job_name="mt", version_base="1.3"), warnings.catch_warnings():
        # The plugin has a schema of the name that our choice has to have.
        warnings.filterwarnings("ignore", rf"\s*'{GROUP}/\w+' is validated against ConfigStore", UserWarning)
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        config = hydra.compose_config(name, [*lines, *(one.input_line or "" for one in options)], RunMode.MULTIRUN)
        context = HydraContext(hydra.config_loader, Callbacks(config))
        launcher = Plugins.instance().instantiate_launcher(context, lambda composed: _job(call, composed), config)
        try:
            ended = launcher.launch([[*job.overrides, *more] for job, more in zip(jobs, further, strict=True)], 0)
        except Exception as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise UserError(
                f"the launcher could not run all jobs ({shown(reason, limit=300)}): what they wrote is in "
                f"{config.hydra.sweep.dir}/.submitit where it is submitit's; jobs that run already go on"
            ) from error
    for job, end in zip(jobs, ended, strict=True):
        job.outcome = _outcome(end)
    return tell(jobs)


def _require_installed(options: Sequence[Override]) -> None:
    if any(one.key_or_group == GROUP and str(one.value()).startswith("submitit") for one in options):
        try:
            distribution(_PLUGIN)
        except PackageNotFoundError:
            raise UserError(
                f"hydra/launcher=submitit_... needs {_PLUGIN}, which is not installed: pip install 'mt[slurm]', or "
                "pip install -e '.[slurm]' in a clone"
            ) from None


def _job(call: Call, composed: DictConfig) -> None:
    """Where the job runs. A launcher keeps what it raises, and nobody need be there any more to read it."""
    with reported():  # an interrupt, which is no result: whoever puts the job into the queue again needs the status
        try:
            call(HydraConfig.get().job.num, composed)
            return
        except (UserError, OSError) as error:
            failure: Exception = error
            print(f"error: {shown(sentence(error), limit=1000)}", file=sys.stderr, flush=True)
        except Exception as error:
            failure = error
            traceback.print_exc()
    raise failure


def _outcome(end: JobReturn) -> str:
    return "done" if end.status == JobStatus.COMPLETED else failed(end._return_value)
