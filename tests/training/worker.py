"""What the processes of `test_distributed.py` run, alone or with others: some updates of every case, an evaluation.

    python worker.py CASES CORPORA RUN OUT SIZE ...

CASES: a JSON object of configurations by their names; CORPORA: where corpora are; RUN: what is evaluated; OUT: where
process 0 of N writes `N/<case>.safetensors`, `N/losses.json` and `N/scores.json`, and each `N/seen-<rank>.json`, which
examples it has read in an epoch. All processes are forked from one, since to import what they need takes longer than
what they do.
"""

import contextlib
import itertools
import json
import os
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from data_prep.prepare import open_corpus
from mt import load
from mt.cli.processes import process_group
from mt.common.options import parse
from mt.config import Config
from mt.data.corpus import Corpus
from mt.distributed import ALONE, ProcessGroup
from mt.evaluation.report import report
from mt.evaluation.score import dev_scores
from mt.training.transforms import sampled_pieces
from tests.training.conftest import Trainer
from tests.training.runs import Seen

UPDATES = 3
COSTS = ("seconds", "tokens_per_second")


def learn(config: Config, corpus: Corpus, training: Any, processes: ProcessGroup, out: Path) -> list[list[float]]:
    """The losses and the norm of each update: of a single epoch of all, else of the first. out: what to write the
    weights to."""
    count = None if config.training.epochs == 1 else UPDATES
    trainer = Trainer(config, corpus)
    made = sampled_pieces(config.training, corpus)
    taken = [*itertools.islice(trainer.updates(training, processes, made), count)]
    if processes.is_first:
        save_file({key: tensor.contiguous() for key, tensor in trainer.weights().items()}, out)
    return [[each.loss, each.smoothed_loss, each.auxiliary_loss, each.gradient_norm] for each in taken]


def evaluate(run: Path, corpus: Corpus, processes: ProcessGroup, out: Path) -> dict[str, Any]:
    translator = load(run)
    translator.network.processes = processes
    dev = dev_scores(translator, corpus.split("dev"), None)
    results = report(translator, corpus.split("test"), "test", out)
    assert (out / "hypotheses").is_dir() == processes.is_first
    return {"dev": [dev.scores, dev.attention_stats], **{name: results[name] for name in results if name not in COSTS}}


def main(cases: Path, corpora: Path, run: Path, out: Path) -> None:
    with process_group() if "RANK" in os.environ else contextlib.nullcontext(ALONE) as processes:
        losses = {}
        for name, plain in json.loads(cases.read_text()).items():
            config = parse(plain, Config)
            corpus = open_corpus(config.dataset, corpora, processes=processes)
            seen = Seen(corpus.split("train"))
            losses[name] = learn(config, corpus, seen, processes, out / f"{name}.safetensors")
            if name == "epoch":
                corpus_of_run = corpus
                (out / f"seen-{processes.rank}.json").write_text(json.dumps(seen.counts))
        scores = evaluate(run, corpus_of_run, processes, out / f"report-{processes.rank}")
        if processes.is_first:
            (out / "losses.json").write_text(json.dumps(losses))
            (out / "scores.json").write_text(json.dumps(scores))


def fork(size: int, out: Path) -> list[int]:
    """Runs `main` in so many processes that know of one another; returns how they ended."""
    out.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(probe.getsockname()[1])}
    processes = []
    for rank in range(size):
        if process := os.fork():
            processes.append(process)
            continue
        try:
            if size > 1:
                os.environ.update(meeting, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size))
            main(*map(Path, sys.argv[1:4]), out)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]


if __name__ == "__main__":
    for size in map(int, sys.argv[5:]):
        if any(fork(size, Path(sys.argv[4]) / str(size))):
            sys.exit(f"one of {size} processes failed")
