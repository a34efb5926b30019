"""One run from start, or from where it stopped, to its results."""

import contextlib
import signal
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tqdm import tqdm

from mt import checkpoint
from mt.device import peak_memory
from mt.errors import Interrupted, UserError
from mt.evaluation.attention_stats import warnings
from mt.evaluation.report import draw, report, samples, summary
from mt.evaluation.score import dev_scores
from mt.storage import explained, write_json
from mt.training.loop import total_updates, updates
from mt.training.state import Run, averaged, keep, save, save_average


def complete(run: Run) -> dict[str, Any]:
    """Trains to the end, then tests, draws and reports; returns what `results.json` holds.

    After a signal the present update is saved. Raises Interrupted then, and UserError where the system refuses to
    write, with a sentence that says how to go on.
    """
    try:
        with contextlib.closing(run), run.signals:
            try:
                train(run)
            except Interrupted:
                keep(run)
                raise
            with run.signals.at_once():
                choose_best(run)
                return _tested(run)
    except KeyboardInterrupt:
        raise Interrupted(run.signals.received or signal.SIGINT, _how_to_go_on(run)) from None
    except OSError as error:
        raise UserError(f"{explained(error)}; {_how_to_go_on(run)}") from error


def _tested(run: Run) -> dict[str, Any]:
    results = report(run.translator, run.corpus.split("test"), "test", run.folder, progress=True)
    results |= {"updates": run.progress.update, "training_seconds": run.progress.seconds}
    results["training_tokens_per_second"] = run.progress.tokens / max(run.progress.seconds, 1e-9)
    results["peak_memory_mb"] = peak_memory(run.translator.device) / 2**20
    write_json(run.folder / "results.json", results)
    run.log.hyperparameters(run.config.model_dump(), results)
    return results


def _how_to_go_on(run: Run) -> str:
    last = checkpoint.newest(run.folder)
    if last is None:
        return f"{run.folder} holds no checkpoint yet, so start again"
    update = checkpoint.load_meta(last).update
    return f"the checkpoint of update {update} is complete; resume with `python train.py resume={run.folder}`"


def train(run: Run) -> None:
    options, progress, log = run.config.training, run.progress, run.log
    training = run.corpus.training
    total = total_updates(training, run.config)
    if stopped_early(run) or (progress.validation_due and not validated(run)):
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
            progress.validation_due = (
                due or progress.update == total or (update.ends_epoch and progress.epoch == options.epochs)
            )
            if progress.validation_due and not validated(run):
                return
            if options.save_every and progress.update % options.save_every == 0:
                keep(run)
            run.signals.check()
            began = time.perf_counter()


def validated(run: Run) -> bool:
    """Validates and saves; returns whether there is reason to go on."""
    is_best = validate(run)
    run.progress.validation_due = False
    save(run, is_best=is_best)
    if stopped_early(run):
        run.log.say(f"stopped: no new best {run.metric} in {run.config.training.patience} validations")
    return not stopped_early(run)


def stopped_early(run: Run) -> bool:
    patience = run.config.training.patience
    return patience is not None and run.progress.bad_validations[-1] >= patience


def validate(run: Run) -> bool:
    """Scores the dev split, tells and draws; returns whether this is the best validation so far."""
    progress, log, count = run.progress, run.log, run.config.training.plots
    split = run.corpus.split("dev")
    with run.signals.at_once():
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
    return best is None or (value < best if run.metric.startswith("loss") else value > best)


def choose_best(run: Run) -> None:
    """Leaves the best weights in the model, after trying the average of the last validations'."""
    folders = averaged(run)
    if len(folders) > 1:
        checkpoint.fill(run.model, checkpoint.average(folders))
        scores = dev_scores(run.translator, run.corpus.split("dev"), run.config.training.validate_limit).scores
        run.log.say(f"average of the last {len(folders)}: {summary(scores)}")
        if improves(run, scores):
            run.progress.best = scores[run.metric]
            save_average(run)
            return
    model, _, _ = checkpoint.load_model(run.folder, "best")
    run.model.load_state_dict(model.state_dict())
