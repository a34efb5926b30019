"""The command train: prepare, train, validate, test, draw. `mt train`, `python train.py` and `mt-train` are this.

What it needs is imported where it is used: the processes that prepare text load this file too, and would wait for
torch."""

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mt.cli.startup import loading
from mt.common.terminal import say
from mt.training.signals import leave_at_once

if TYPE_CHECKING:
    from mt.data.tokenizer import Tokenizers
    from mt.distributed import ProcessGroup
    from mt.training.run import Run


def main(
    composed: dict[str, Any],
    overrides: list[str],
    presets: Sequence[str] = (),
    *,
    processes: "ProcessGroup | None" = None,
) -> None:
    """Trains. presets: lines that name what presets set. processes: train together, where this is not the only one."""
    with loading():
        from mt.distributed import ALONE
        from mt.evaluation.report import table
        from mt.training.train import train_and_test

    run = _open_run(composed, overrides, presets, processes or ALONE)
    results = train_and_test(run)
    say(f"{table(results)}\n\n{run.folder}")


def _open_run(
    composed: dict[str, Any], overrides: list[str], presets: Sequence[str], processes: "ProcessGroup"
) -> "Run":
    from data_prep.prepare import open_corpus
    from mt import checkpoint
    from mt.cli.command import save_composed
    from mt.cli.start import continued_config, resumed_config, with_earlier_model
    from mt.common.options import parse
    from mt.config import Config
    from mt.training.initialisation import inherited_tokenizers
    from mt.training.start import AUTO, begin, resume, run_of

    resumed = composed.pop("resume")
    folder = Path(composed.pop("folder"))
    corpora = Path(composed.pop("corpora"))
    processes.require_shared(corpora)
    if resumed not in (None, AUTO):
        run_folder = run_of(Path(resumed))
        config = resumed_config(checkpoint.load_config(run_folder), overrides)
        corpus = open_corpus(config.dataset, corpora, inherited_tokenizers(run_folder), processes)
        return resume(config, corpus, run_folder, processes)
    if resumed == AUTO and processes.decided_by_first(lambda: checkpoint.newest(folder)):
        trained = checkpoint.load_config(folder)
        if composed["init_from"] is not None:  # which may be gone by now
            composed = with_earlier_model(composed, overrides, trained)
        config = continued_config(parse(composed, Config), trained, folder)
        corpus = open_corpus(config.dataset, corpora, inherited_tokenizers(folder), processes)
        return resume(config, corpus, folder, processes)
    composed, folder, tokenizers = _with_init_from(composed, overrides, folder)
    config = parse(composed, Config)
    for line in presets:
        say(line)
    corpus = open_corpus(config.dataset, corpora, tokenizers, processes)
    run = begin(config, corpus, folder, processes, in_place=resumed == AUTO)
    if processes.is_first:
        save_composed(composed, run.folder)
    return run


def _with_init_from(
    composed: dict[str, Any], overrides: list[str], folder: Path
) -> "tuple[dict[str, Any], Path, Tokenizers | None]":
    """Returns what was composed and the run's folder, unchanged and with None. Where the run starts from another
    (`init_from`), they are changed, with the tokenizers that it takes of that."""
    if composed["init_from"] is None:
        return composed, folder, None
    from data_prep.vocabulary import extended
    from mt.cli.start import folder_of_attention, with_earlier_model
    from mt.common.options import parse
    from mt.config import Config
    from mt.training.initialisation import load_earlier, require_same_sizes

    earlier = load_earlier(composed["init_from"], folder)
    composed = with_earlier_model(composed, overrides, earlier.config)
    config = parse(composed, Config)
    require_same_sizes(earlier, config)
    tokenizers = earlier.tokenizers
    if config.init.vocabulary == "extend":
        tokenizers = extended(config.dataset, tokenizers, config.init.new_pieces)
    return composed, folder_of_attention(folder, overrides, composed), tokenizers


def command(arguments: Sequence[str]) -> None:
    """Trains what conf/config.yaml and the command line say."""
    rank = os.environ.get("RANK")  # as `torchrun` sets it
    leave_at_once(int(rank) if rank else None)
    from mt.cli.command import compose, compose_unreported

    if int(os.environ.get("WORLD_SIZE") or 1) == 1:
        compose(main, "config", arguments)
        return
    from mt.errors import UserError, reported

    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # torch would tell of a process that is gone, at length
    with reported():
        from mt.cli.processes import process_group

        with process_group() as processes:
            if {"-m", "--multirun"} & {*arguments}:
                raise UserError("-m starts several jobs, and torchrun the processes of a single one: leave one out")
            compose_unreported(functools.partial(main, processes=processes), "config", arguments)
