"""A training from its options to its results: Hydra composes them, and a run is begun, resumed, or started from the
weights of another one, and trained."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from data_prep.prepare import open_corpus
from mt import checkpoint
from mt.cli.composition import STATUS, is_sweep, output_folder, run_composed, save_composed
from mt.cli.processes import process_group
from mt.cli.run_folders import register
from mt.cli.start import continued_config, resumed_config, with_earlier_model
from mt.common.options import parse
from mt.common.terminal import say
from mt.config import Config
from mt.distributed import ALONE, ProcessGroup
from mt.errors import UserError, reported
from mt.evaluation.report import table
from mt.training.initialisation import inherited_tokenizers, load_earlier, require_same_sizes
from mt.training.run import Run
from mt.training.start import AUTO, begin, resume, run_of
from mt.training.train import train_and_test


def run_jobs(arguments: Sequence[str]) -> None:
    """Trains what conf/config.yaml and the command line say, in one process or in those that `torchrun` starts."""
    register()
    with reported(STATUS):
        # An empty variable counts as none.
        if int(os.environ.get("WORLD_SIZE") or 1) == 1:
            run_composed("config", _job, arguments)
            return
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # torch would tell of a process that is gone, at length
        with process_group() as processes:
            if {"-m", "--multirun"} & {*arguments}:
                raise UserError("-m starts several jobs, and torchrun the processes of a single one: leave one out")
            # The first process alone has a folder and a record; it tells the others of them.
            quiet = [] if processes.is_first else ["hydra.run.dir=.", "hydra.output_subdir=null"]
            run_composed("config", partial(_job, processes=processes), [*arguments, *quiet])


def _job(composed: dict[str, Any], overrides: list[str], processes: ProcessGroup = ALONE) -> float | None:
    # A configuration of the user's own may lack our list of defaults.
    if missing := {"folder", "resume", "corpora", "init_from"} - composed.keys():
        raise UserError(
            f"the configuration has no option {sorted(missing)[0]}: begin its list of defaults with config, as in "
            "`defaults: [config, _self_]`"
        )
    if nested := {"experiment", "online", "preset"} & composed.keys():
        raise UserError(
            f"the file of {sorted(nested)[0]}= has its options in a part of that name: begin it with "
            "`# @package _global_`"
        )
    # A job of a sweep that a queue starts again has the folder of its first start, named at the submission.
    if composed["resume"] == AUTO and composed["folder"] is None and not is_sweep():
        raise UserError(
            "resume=auto goes on in the folder that it is given, and this one has the time in its name: add "
            "folder=outputs/NAME"
        )
    return train(composed, overrides, processes.decided_by_first(output_folder), processes)


def train(composed: Mapping[str, Any], overrides: Sequence[str], folder: Path, processes: ProcessGroup) -> float | None:
    """Trains a run in a folder, and prints its results. Returns the best score on dev; None without a validation.

    composed: all options. overrides: those of the command line (`key=value`). processes: train together.
    """
    run = _open_run(composed, overrides, folder, processes)
    results = train_and_test(run)
    say(f"{table(results)}\n\n{run.folder}" if results else str(run.folder))
    return run.progress.best[run.metric] if run.progress.best else None


def _open_run(composed: Mapping[str, Any], overrides: Sequence[str], folder: Path, processes: ProcessGroup) -> Run:
    # What is of the command is taken apart from what is of the run.
    plain = {key: value for key, value in composed.items() if key not in ("folder", "resume", "corpora")}
    resumed = composed["resume"]
    corpora = Path(str(composed["corpora"]))
    processes.require_shared(corpora)
    # A run that is resumed has its own configuration, but for what may change on the way.
    if resumed not in (None, AUTO):
        run_folder = run_of(Path(str(resumed)))
        config = resumed_config(checkpoint.load_config(run_folder), overrides)
        corpus = open_corpus(config.dataset, corpora, inherited_tokenizers(run_folder), processes)
        return resume(config, corpus, run_folder, processes)
    if resumed == AUTO and processes.decided_by_first(lambda: checkpoint.newest(folder)):
        trained = checkpoint.load_config(folder)
        if plain["init_from"] is not None:  # which may be gone by now
            plain = with_earlier_model(plain, overrides, trained)
        config = continued_config(parse(plain, Config), trained, folder)
        corpus = open_corpus(config.dataset, corpora, inherited_tokenizers(folder), processes)
        return resume(config, corpus, folder, processes)
    # A new run may start from the weights of another, with its model and tokenizers.
    tokenizers = None
    if plain["init_from"] is not None:
        earlier = load_earlier(plain["init_from"], folder)
        plain = with_earlier_model(plain, overrides, earlier.config)
        require_same_sizes(earlier, parse(plain, Config))
        tokenizers = earlier.tokenizers
    config = parse(plain, Config)
    run = begin(config, open_corpus(config.dataset, corpora, tokenizers, processes), folder, processes)
    if processes.is_first:
        save_composed(plain, run.folder)
    return run
