"""One run from start, or from where it stopped, to its results."""

import contextlib
import itertools
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus
from mt.device import choose, peak_memory, reset_peak_memory
from mt.errors import UserError
from mt.evaluation.attention_stats import warnings
from mt.evaluation.report import draw, report, samples, summary
from mt.evaluation.score import dev_scores
from mt.inference import Translator, decodes_hard
from mt.metrics import higher_is_better
from mt.models.seq2seq import Seq2Seq
from mt.optim.optimizer import build_optimizer
from mt.storage import write_json
from mt.training.checks import chosen_metric, require_fit
from mt.training.log import Log
from mt.training.loop import Progress, total_updates, updates


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
        progress = Progress(**state["progress"])
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
            results = report(run.translator, run.corpus.split("test"), "test", run.folder, progress=True)
            results |= {"updates": run.progress.update, "training_seconds": run.progress.seconds}
            results["training_tokens_per_second"] = run.progress.tokens / max(run.progress.seconds, 1e-9)
            results["peak_memory_mb"] = peak_memory(run.translator.device) / 2**20
            write_json(run.folder / "results.json", results)
            run.log.hyperparameters(run.config.model_dump(), results)
            return results
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_how_to_go_on(run)) from None
    except OSError as error:
        raise UserError(f"{error}: mend the disk or make room on it; {_how_to_go_on(run)}") from error


def _how_to_go_on(run: Run) -> str:
    last = run.checkpoints / "last"
    if not last.exists():
        return f"{run.folder} holds no checkpoint yet, so start again"
    update = checkpoint.load_meta(last)["update"]
    return f"the checkpoint of update {update} is whole: go on with `python train.py resume={run.folder}`"


def train(run: Run) -> None:
    options, progress, log = run.config.training, run.progress, run.log
    training = run.corpus.training
    total = total_updates(training, run.config)
    if stopped_early(run):
        return
    with tqdm(total=total, initial=progress.update, desc="training", unit=" updates", dynamic_ncols=True) as bar:
        began = time.perf_counter()
        for update in updates(run.model, run.optimizer, training, run.config, progress):
            progress.seconds += time.perf_counter() - began
            bar.update()
            bar.set_postfix(epoch=progress.epoch, loss=f"{update.loss:.3f}", refresh=False)
            if progress.update % options.log_every == 0:
                speed = progress.tokens / progress.seconds
                log.scalars("train", progress.update, asdict(update) | {"tokens_per_second": speed})
            due = progress.update % options.validate_every == 0 if options.validate_every else update.ends_epoch
            if due or progress.update == total or (update.ends_epoch and progress.epoch == options.epochs):
                is_best = validate(run)
                save(run, is_best=is_best)
                if stopped_early(run):
                    log.say(f"stopped: no new best {run.metric} in {options.patience} validations")
                    return
            elif options.save_every and progress.update % options.save_every == 0:
                save(run, is_best=False)
            began = time.perf_counter()


def stopped_early(run: Run) -> bool:
    patience = run.config.training.patience
    return patience is not None and run.progress.bad_validations[-1] >= patience


def validate(run: Run) -> bool:
    """Scores the dev split, tells and draws; returns whether this is the best validation so far."""
    progress, log, count = run.progress, run.log, run.config.training.plots
    split = run.corpus.split("dev")
    scores, translations, stats = dev_scores(run.translator, split, run.config.training.validate_limit)
    is_best = improves(run, scores)
    progress.validations.append(progress.update)
    if is_best:
        progress.best = scores[run.metric]
        progress.bad_validations.append(0)
    else:
        progress.bad_validations[-1] += 1
    log.scalars("dev", progress.update, scores)
    log.scalars("attention", progress.update, stats)
    log.say(f"update {progress.update}: {summary(scores)}{' (best)' if is_best else ''}")
    for warning in warnings(stats):
        log.say(f"  warning: {warning}")
    log.text("dev/translations", progress.update, samples(split, translations[:count]))
    for number, translation in enumerate(translations[:count]):
        if translation.tokens:
            log.figure(f"dev/alignment_{number}", progress.update, draw(translation, run.model.chunk_size))
    return is_best


def improves(run: Run, scores: Mapping[str, float]) -> bool:
    """Whether these scores are better than the best so far."""
    value, best = scores[run.metric], run.progress.best
    return best is None or (value > best if higher_is_better(run.metric) else value < best)


def save(run: Run, *, is_best: bool) -> None:
    """Writes this update's checkpoint, points `last` (and `best`) to it, and deletes those no longer of use."""
    folder = run.checkpoints / f"update-{run.progress.update:07d}"
    training = {
        "optimizer": run.optimizer.state_dict(),
        "progress": asdict(run.progress),
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    checkpoint.save(folder, run.model, run.corpus.tokenizers, run.config, meta(run, run.progress.best), training)
    checkpoint.point(run.checkpoints / "last", folder)
    if is_best:
        checkpoint.point(run.checkpoints / "best", folder)
    kept = {folder.resolve(), (run.checkpoints / "best").resolve(), *averaged(run)}
    for old in run.checkpoints.glob("update-*"):
        if old.resolve() not in kept:
            checkpoint.remove(old)


def meta(run: Run, best: float | None) -> dict[str, Any]:
    """What a checkpoint tells people, and resuming, of its origin. best: its score by the run's metric."""
    return {"update": run.progress.update, "metric": run.metric, "best": best, "corpus": run.corpus.meta["fingerprint"]}


def averaged(run: Run) -> list[Path]:
    """The checkpoints of the last validations, as many as are averaged and, if that number was raised, still there."""
    updates_kept = run.progress.validations[-run.config.training.average_checkpoints :]
    folders = [(run.checkpoints / f"update-{update:07d}").resolve() for update in updates_kept]
    return [folder for folder in folders if folder.is_dir()]


def choose_best(run: Run) -> None:
    """Leaves the best weights in the model, after trying the average of the last validations'."""
    folders = averaged(run)
    if len(folders) > 1:
        checkpoint.fill(run.model, checkpoint.average(folders))
        scores = dev_scores(run.translator, run.corpus.split("dev"), run.config.training.validate_limit).scores
        run.log.say(f"average of the last {len(folders)}: {summary(scores)}")
        if improves(run, scores):
            best, folder = run.checkpoints / "best", run.checkpoints / "average"
            # Where an earlier end of this run left an average, `best` must not point to it while it is replaced.
            checkpoint.point(best, folders[-1])
            about = meta(run, scores[run.metric])
            checkpoint.save(folder, run.model, run.corpus.tokenizers, run.config, about, None)
            checkpoint.point(best, folder)
            return
    model, _, _ = checkpoint.load_model(run.folder, "best")
    run.model.load_state_dict(model.state_dict())
