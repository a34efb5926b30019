"""One run from start, or from where it stopped, to its results."""

import contextlib
import signal
import time
from typing import Any

from mt import checkpoint
from mt.device import peak_memory
from mt.distributed import LostError
from mt.errors import Interrupted, UserError, explained
from mt.evaluation.report import origin, report, weights_name
from mt.metrics import score_names
from mt.storage import write_json
from mt.training.batches import total_updates
from mt.training.console import heading, scores_shown
from mt.training.loop import updates
from mt.training.progress import LogWindow
from mt.training.selection import improves
from mt.training.signals import interruption
from mt.training.state import Run, averaged, keep, save, save_average
from mt.training.validation import cut_shown, measure, say_advice, validate


def complete(run: Run) -> dict[str, Any]:
    """Trains to the end, then tests, draws and reports; returns what `results.json` holds.

    After a signal, and where another process that trains with this one has gone, the present update is saved. Raises
    Interrupted or LostError then, and UserError where the system refuses to write: sentences that say how to go on.
    """
    try:
        # In this order: handlers of others, which may put the run into a queue again, find its folder free.
        with run.signals:
            with contextlib.closing(run):
                try:
                    train(run)
                except (Interrupted, LostError):
                    keep(run)
                    raise
                with run.signals.at_once():
                    choose_best(run)
                    with run.evaluating():
                        results = final_results(run)
            run.signals.check()
        return results
    except LostError as error:
        if run.signals.received:  # which the others had first
            raise interruption(run.signals.received, _how_to_go_on(run)) from None
        raise LostError(_how_to_go_on(run)) from error
    except KeyboardInterrupt as interrupt:
        number = interrupt.number if isinstance(interrupt, Interrupted) else signal.SIGINT
        raise interruption(run.signals.received or number, _how_to_go_on(run)) from None
    except OSError as error:
        raise UserError(f"{explained(error, run.folder)}; {_how_to_go_on(run)}") from error


def final_results(run: Run) -> dict[str, Any]:
    """Scores the test split, or dev where there is none, with the weights that the model has, and writes what is kept
    of a run."""
    progress, name = run.progress, run.corpus.scored
    results = report(run.translator, run.corpus.split(name), name, run.folder, progress=run.console.bars)
    results |= {
        "checkpoint": run.processes.decided_by_first(lambda: origin(run.folder, "best")),
        "updates": progress.update,
    }
    results |= {"training_seconds": progress.seconds, "training_tokens": progress.tokens}
    # The mean over the whole run hides what changed in its course.
    results["training_tokens_per_second"] = progress.tokens / max(progress.seconds, 1e-9)
    results["training_tokens_per_second_last"] = progress.last_speed
    results["peak_memory_mb"] = peak_memory(run.translator.device) / 2**20
    if run.processes.is_first:
        write_json(run.folder / "results.json", results)
    run.log.hyperparameters(run.config.model_dump(), results, run.metric)
    return results


def _how_to_go_on(run: Run) -> str:
    last = checkpoint.newest(run.folder)
    if last is None:
        return f"{run.folder} holds no checkpoint yet, so start again"
    update = checkpoint.load_meta(last).update
    return f"the checkpoint of update {update} is complete; resume with `python train.py resume={run.folder}`"


def train(run: Run) -> None:
    options, progress, console = run.config.training, run.progress, run.console
    total = total_updates(run.corpus.training, run.config)
    console.say(heading(run.config, run.corpus, run.model, run.folder, progress, total, run.processes))
    run.log.layout(score_names(run.config.dataset.metrics))
    if options.validate_first and not (progress.update or progress.validations):
        progress.validation_due = True
    if note := _nothing_left(run, total):
        console.say(note)
    if stopped_early(run) or (progress.validation_due and not saved(run)):
        return
    with console.training(progress, total):
        began = time.perf_counter()
        for update in updates(run.model, run.optimizer, run.corpus.training, run.config, progress, run.processes):
            seconds = time.perf_counter() - began
            progress.seconds += seconds
            progress.window.add(update, seconds)
            console.updated()
            if update.left_out and progress.loss_scale and progress.loss_scale.left_out == 1:
                console.say(progress.loss_scale.notice(progress.update))
            due = progress.update % options.validate_every == 0 if options.validate_every else update.ends_epoch
            due |= progress.update == total or (update.ends_epoch and progress.epoch == options.epochs)
            progress.validation_due = due
            if due or progress.update % options.log_every == 0:
                log_window(run, update.lr)
            stops = stop_requested(run)
            saves = due or stops or (options.save_every and progress.update % options.save_every == 0)
            if saves and not saved(run):
                return
            if stops:
                raise interruption(stops)
            began = time.perf_counter()
    if not progress.validations:  # fewer updates were asked for than an interrupted run had done
        progress.validation_due = True
        saved(run)


def _nothing_left(run: Run, total: int | None) -> str:
    """A sentence where a run that is resumed has no update to make; "" else."""
    progress, options = run.progress, run.config.training
    if stopped_early(run):
        return (
            f"nothing is left to train: the run has stopped early; raise training.patience={options.patience} to go on"
        )
    if progress.epoch > options.epochs or (total is not None and progress.update >= total):
        more = "training.epochs" if options.max_updates is None else "training.max_updates or training.epochs"
        return f"nothing is left to train after update {progress.update:,}: raise {more} to go on"
    return ""


def stop_requested(run: Run) -> int:
    """The signal that asks the run to end after this update, whichever of its processes has received it; 0: none. Asked
    once in an update, for all that follows from it."""
    return run.processes.maximum(run.signals.received or 0)


def saved(run: Run) -> bool:
    """Validates where that is due, and saves; returns whether there is reason to go on."""
    due = run.progress.validation_due
    is_best = False
    if due:
        with run.evaluating():
            is_best = validate(run)
    run.progress.validation_due = False
    save(run, is_best=is_best)
    if due and stopped_early(run):
        run.console.say(f"stopped: no new best {run.metric} in {run.config.training.patience} validations")
        return False
    return True


def log_window(run: Run, lr: float) -> None:
    """Logs the updates since the line before. lr: of the last of them."""
    progress = run.progress
    means = progress.window.means() | {"lr": lr}
    if progress.loss_scale:
        means["loss_scale"] = progress.loss_scale.factor
    progress.window, progress.last_speed = LogWindow(), means["tokens_per_second"]
    run.log.scalars("train", progress.update, {"epoch": progress.epoch, "tokens": progress.tokens, **means})
    run.console.logged(progress, means)


def stopped_early(run: Run) -> bool:
    patience = run.config.training.patience
    return patience is not None and run.progress.bad_validations[-1] >= patience


def choose_best(run: Run) -> None:
    """Leaves the best weights in the model, after trying the average of the last validations'."""
    folders, progress, console = run.processes.decided_by_first(lambda: averaged(run)), run.progress, run.console
    say_advice(run, at_the_end=True)
    if len(folders) > 1:
        if run.processes.is_first:
            checkpoint.fill(run.model, checkpoint.average(folders))
        run.processes.broadcast_weights(run.model)
        with run.evaluating():
            validation = measure(run)
        scores = validation.scores
        won = improves(scores, progress.best, run.metric)
        note = ("  (best)" if won else "  (not better than the best)") + cut_shown(validation)
        console.say(scores_shown(f"average of the last {len(folders)}", scores, note))
        if won:
            progress.best = scores
            save_average(run, progress.validations[-len(folders) :])
    name = run.processes.decided_by_first(lambda: _take_best(run))
    run.processes.broadcast_weights(run.model)
    console.say(f"testing the {name}")


def _take_best(run: Run) -> str:
    model, _, _ = checkpoint.load_model(run.folder, "best")
    run.model.load_state_dict(model.state_dict())
    return weights_name(origin(run.folder, "best"))
