"""One run from start, or from where it stopped, to its results."""

import contextlib
import itertools
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus
from mt.device import choose, peak_memory, reset_peak_memory
from mt.errors import UserError
from mt.evaluation.report import origin, report, weights_name
from mt.inference import Translator, decodes_hard
from mt.metrics import score_names
from mt.models.seq2seq import Seq2Seq
from mt.optim.optimizer import build_optimizer
from mt.storage import write_json
from mt.training.checks import chosen_metric, require_fit
from mt.training.console import Console, heading, scores_shown
from mt.training.log import Log
from mt.training.loop import Progress, Window, total_updates, updates
from mt.training.selection import improves
from mt.training.validation import measure, say_advice, validate


@dataclass
class Run:
    """The live parts of a run."""

    config: Config
    corpus: Corpus
    folder: Path
    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    progress: Progress
    log: Log
    console: Console = field(default_factory=Console)

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def translator(self) -> Translator:
        return Translator(self.model, self.corpus.tokenizers, self.config)

    @property
    def metric(self) -> str:
        """What chooses the best checkpoint."""
        return chosen_metric(self.config)


def new_folder(wanted: Path) -> Path:
    """Makes the run's folder; a number is appended where the name is taken."""
    for number in itertools.count(1):
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise AssertionError("unreachable: count never ends")


def begin(config: Config, corpus: Corpus, wanted: Path) -> Run:
    """A new run, in the folder wanted or, where that is taken, in one beside it.

    Raises UserError where the parts do not fit together; no folder is made then.
    """
    device = choose(config.device)
    reset_peak_memory(device)
    torch.manual_seed(config.seed)
    model = Seq2Seq(config, len(corpus.tokenizers.source), len(corpus.tokenizers.target)).to(device)
    require_fit(config, corpus, model)
    folder = new_folder(wanted)
    optimizer = build_optimizer(config.optimizer, model)
    return Run(config, corpus, folder, model, optimizer, Progress(), Log(folder, update=0))


def resume(config: Config, corpus: Corpus, folder: Path) -> Run:
    """A run as its last checkpoint left it, to the bit on the CPU. config: the checkpoint's, or with more epochs."""
    last = checkpoint.locate(folder, "last").resolve()
    model, _, _ = checkpoint.load_model(last, "last")
    if checkpoint.load_meta(last).get("corpus") != corpus.meta["fingerprint"]:
        raise UserError(
            f"{folder} was trained on another corpus: the text or its preparation has changed since; restore them, or "
            "start a new run"
        )
    decodes_hard(config.search, model)
    model = model.to(choose(config.device))
    optimizer = build_optimizer(config.optimizer, model)
    state = checkpoint.load_training(last)
    try:
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        if torch.cuda.is_available() and state["random_cuda"]:
            torch.cuda.set_rng_state_all(state["random_cuda"])
        progress = Progress(**state["progress"] | best_average(folder))
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError):
        raise UserError(
            f"{last / checkpoint.TRAINING} does not belong to its model: copy the checkpoint again"
        ) from None
    return Run(config, corpus, folder, model, optimizer, progress, Log(folder, update=progress.update))


def complete(run: Run) -> dict[str, Any]:
    """Trains to the end, then tests, draws and reports; returns what `results.json` holds.

    Raises UserError where the disk fails, and KeyboardInterrupt with a sentence that says how to go on.
    """
    try:
        with contextlib.closing(run.log):
            train(run)
            choose_best(run)
            return final_results(run)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_how_to_go_on(run)) from None
    except OSError as error:
        raise UserError(f"{error}: mend the disk or make room on it; {_how_to_go_on(run)}") from error


def final_results(run: Run) -> dict[str, Any]:
    """Scores the test split with the weights that the model has, and writes what is kept of a run."""
    progress = run.progress
    results = report(run.translator, run.corpus.split("test"), "test", run.folder, progress=run.console.bars)
    results |= {"checkpoint": origin(run.folder, "best"), "updates": progress.update}
    results |= {"training_seconds": progress.seconds, "training_tokens": progress.tokens}
    # The mean over the whole run; that of a part of it is in metrics.jsonl.
    results["training_tokens_per_second"] = progress.tokens / max(progress.seconds, 1e-9)
    results["peak_memory_mb"] = peak_memory(run.translator.device) / 2**20
    write_json(run.folder / "results.json", results)
    run.log.hyperparameters(run.config.model_dump(), results, run.metric)
    return results


def _how_to_go_on(run: Run) -> str:
    last = run.checkpoints / "last"
    if not last.exists():
        return f"{run.folder} holds no checkpoint yet, so start again"
    update = checkpoint.load_meta(last)["update"]
    return f"the checkpoint of update {update} is whole: go on with `python train.py resume={run.folder}`"


def train(run: Run) -> None:
    options, progress, console, window = run.config.training, run.progress, run.console, Window()
    total = total_updates(run.corpus.training, run.config)
    console.say(heading(run.config, run.corpus, run.model, run.folder, progress, total))
    run.log.layout(score_names(run.config.dataset.metrics))
    if stopped_early(run):
        return
    with console.training(progress, total):
        began = time.perf_counter()
        for update in updates(run.model, run.optimizer, run.corpus.training, run.config, progress):
            seconds = time.perf_counter() - began
            progress.seconds += seconds
            window.add(update, seconds)
            console.updated()
            due = progress.update % options.validate_every == 0 if options.validate_every else update.ends_epoch
            due |= progress.update == total or (update.ends_epoch and progress.epoch == options.epochs)
            saves = due or (options.save_every and progress.update % options.save_every == 0)
            # Before each checkpoint, too: a run that goes on from there logs what one that never stopped does.
            if saves or progress.update % options.log_every == 0:
                log_window(run, window)
                window = Window()
            if saves:
                save(run, is_best=due and validate(run))
            if due and stopped_early(run):
                console.say(f"stopped: no new best {run.metric} in {options.patience} validations")
                return
            began = time.perf_counter()


def log_window(run: Run, window: Window) -> None:
    progress, means = run.progress, window.means()
    counts = {"epoch": progress.epoch, "tokens": progress.tokens}
    run.log.scalars("train", progress.update, counts | means)
    run.console.logged(progress, means)


def stopped_early(run: Run) -> bool:
    patience = run.config.training.patience
    return patience is not None and run.progress.bad_validations[-1] >= patience


def save(run: Run, *, is_best: bool) -> None:
    """Writes this update's checkpoint, points `last` (and `best`) to it, and deletes those no longer of use."""
    folder = run.checkpoints / f"update-{run.progress.update:07d}"
    training = {
        "optimizer": run.optimizer.state_dict(),
        "progress": asdict(run.progress),
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    checkpoint.save(folder, run.model, run.corpus.tokenizers, run.config, meta(run), training)
    checkpoint.point(run.checkpoints / "last", folder)
    if is_best:
        checkpoint.point(run.checkpoints / "best", folder)
    kept = {folder.resolve(), (run.checkpoints / "best").resolve(), *averaged(run)}
    for old in run.checkpoints.glob("update-*"):
        if old.resolve() not in kept:
            checkpoint.remove(old)


def meta(run: Run, averaged: list[int] | None = None) -> dict[str, Any]:
    """What a checkpoint tells people, and resuming, of its origin. averaged: the updates whose mean its weights are."""
    known = {"update": run.progress.update, "metric": run.metric, "best": run.progress.best}
    return known | {"corpus": run.corpus.meta["fingerprint"]} | ({"averaged": averaged} if averaged else {})


def best_average(folder: Path) -> dict[str, Any]:
    """The `best` of progress where that is an average of weights, which was made after the last checkpoint."""
    best = folder / "checkpoints" / "best"
    meta = checkpoint.load_meta(best) if best.exists() else {}  # none before the first validation
    return {"best": meta["best"]} if meta.get("averaged") else {}


def averaged(run: Run) -> list[Path]:
    """The checkpoints of the last validations, as many as are averaged and, if that number was raised, still there."""
    updates_kept = run.progress.validations[-run.config.training.average_checkpoints :]
    folders = [(run.checkpoints / f"update-{update:07d}").resolve() for update in updates_kept]
    return [folder for folder in folders if folder.is_dir()]


def choose_best(run: Run) -> None:
    """Leaves the best weights in the model, after trying the average of the last validations'."""
    folders, progress, console = averaged(run), run.progress, run.console
    say_advice(run, at_the_end=True)
    if len(folders) > 1:
        checkpoint.fill(run.model, checkpoint.average(folders))
        scores = measure(run).scores
        won = improves(scores, progress.best, run.metric)
        note = "  (best)" if won else "  (not better than the best)"
        console.say(scores_shown(f"average of the last {len(folders)}", scores, note))
        if won:
            progress.best = scores
            best, folder = run.checkpoints / "best", run.checkpoints / "average"
            # Where an earlier end of this run left an average, `best` must not point to it while it is replaced.
            checkpoint.point(best, folders[-1])
            about = meta(run, progress.validations[-len(folders) :])
            checkpoint.save(folder, run.model, run.corpus.tokenizers, run.config, about, None)
            checkpoint.point(best, folder)
    model, _, _ = checkpoint.load_model(run.folder, "best")
    run.model.load_state_dict(model.state_dict())
    console.say(f"testing the {weights_name(origin(run.folder, 'best'))}")
