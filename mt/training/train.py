"""One run to its results: the training loop around updates with its validations, then the choice of the best weights
and the test. `train_and_test` calls them in turn."""

import contextlib
import signal
import time
from collections.abc import Iterator
from typing import Any

from mt import checkpoint
from mt.device import peak_memory
from mt.distributed import LostError
from mt.errors import Interrupted, UserError, explained
from mt.evaluation.report import origin, report, weights_name
from mt.metrics import score_names
from mt.storage import write_json
from mt.training.batches import total_updates
from mt.training.log import heading, scores_shown
from mt.training.loop import LogWindow, Update, updates
from mt.training.run import Run
from mt.training.saving import checkpoints_to_average, save, save_unsaved
from mt.training.signals import interruption
from mt.training.validation import cut_shown, improves, measure, say_advice, validate


def train_and_test(run: Run) -> dict[str, Any]:
    """Trains to the end, then tests, draws and reports; returns the content of `results.json`, which is empty without
    `training.test`.

    After a signal, and where another process that trains with this one has gone, the present update is saved. Raises
    Interrupted or LostError then, and UserError where the system refuses to write. Their sentences say how to go on.
    """
    try:
        # In this order: handlers of others, which may put the run into a queue again, find its folder free.
        with run.signals:
            with contextlib.closing(run):
                try:
                    train(run)
                except (Interrupted, LostError):
                    save_unsaved(run)
                    raise
                with run.signals.at_once(), _checked_batches(run):
                    choose_best(run)
                    results = {}
                    if run.config.training.test:
                        with run.evaluating():
                            results = final_results(run)
            # A signal may have come while the files were closed.
            run.signals.check()
        return results
    except LostError as error:
        if run.signals.received:  # which the others had first
            raise interruption(run.signals.received, _how_to_go_on(run)) from None
        raise LostError(_how_to_go_on(run)) from error
    except KeyboardInterrupt as interrupt:
        # The first signal that came decides how the process ends.
        number = interrupt.number if isinstance(interrupt, Interrupted) else signal.SIGINT
        raise interruption(run.signals.received or number, _how_to_go_on(run)) from None
    except OSError as error:
        raise UserError(f"{explained(error, run.folder)}; {_how_to_go_on(run)}") from error


@contextlib.contextmanager
def _checked_batches(run: Run) -> Iterator[None]:
    """Asks at each encoded batch whether a signal has come. Python ignores the exception of a handler that interrupts
    the callback of a weak reference."""
    hook = run.model.encoder.register_forward_pre_hook(lambda module, inputs: run.signals.check())
    try:
        yield
    finally:
        hook.remove()


def final_results(run: Run) -> dict[str, Any]:
    """Scores the test split, or dev where there is none, with the present weights, and writes `results.json`."""
    # Scores, then what the training took.
    progress = run.progress
    name = run.corpus.scored
    results = report(run.translator, run.corpus.split(name), name, run.folder, progress=run.console.bars)
    results["checkpoint"] = run.processes.decided_by_first(lambda: origin(run.folder, "best"))
    results["updates"] = progress.update
    results["training_seconds"] = progress.seconds
    results["training_tokens"] = progress.tokens
    # The mean over the whole run hides changes in its course.
    results["training_tokens_per_second"] = progress.tokens / max(progress.seconds, 1e-9)
    results["training_tokens_per_second_last"] = progress.last_speed
    results["peak_memory_mb"] = peak_memory(run.translator.network.in_torch().device) / 2**20
    if run.log:
        write_json(run.folder / "results.json", results)
        run.log.results(results)
    return results


def _how_to_go_on(run: Run) -> str:
    """Says which checkpoint is complete, and how to resume from it."""
    last = checkpoint.newest(run.folder)
    if last is None:
        return f"{run.folder} holds no checkpoint yet, so start again"
    update = checkpoint.load_meta(last).update
    return f"the checkpoint of update {update} is complete; resume with `mt train resume={run.folder}`"


def train(run: Run) -> None:
    """Makes updates, and logs, validates and saves as often as the options say, to the end or until a signal comes."""
    # The head of the log: the run's size, and a note where nothing is left to do.
    progress = run.progress
    training = run.corpus.split("train")
    total = total_updates(training, run.config)
    run.console.say(heading(run.config, run.corpus, run.model, run.folder, progress, total, run.processes))
    if run.log:
        run.log.layout(score_names(run.config.dataset.metrics))
    if note := _nothing_left(run, total):
        run.console.say(note)
    # A validation before the first update, or one that a signal had kept the run from.
    if run.config.training.validate_first and not (progress.update or progress.validations):
        progress.validation_due = True
    if progress.validation_due:
        validate_and_save(run)
    if stopped_early(run):
        return
    with run.console.training(progress, total):
        began = time.perf_counter()
        setup = (run.model, run.optimizer, training, run.config, progress, run.processes, run.transform)
        for update in updates(*setup, total=total):
            if run.moving_average is not None:
                run.moving_average.update(progress.update)
            # Here the clock stops: logs, validations and saving are no part of the time of training.
            _count(run, update, time.perf_counter() - began)
            progress.validation_due = _validation_due(run, update, total)
            if progress.validation_due or _is_multiple(progress.update, run.config.training.log_every):
                log_window(run, update.lr)
            # A signal to any of the processes is obeyed between updates alone, with all that was due saved.
            stop_signal = run.signals.received or 0
            if run.processes.size > 1:
                stop_signal = run.processes.maximum(stop_signal)
            save_due = _is_multiple(progress.update, run.config.training.save_every)
            if progress.validation_due or stop_signal or save_due:
                validate_and_save(run)
            if stopped_early(run):
                return
            if stop_signal:
                raise interruption(stop_signal)
            began = time.perf_counter()
    if not progress.validations:  # fewer updates were asked for than an interrupted run had done
        progress.validation_due = True
        validate_and_save(run)


def _count(run: Run, update: Update, seconds: float) -> None:
    """Adds an update and its duration to the sums of the log, and moves the console's progress bar."""
    run.progress.seconds += seconds
    run.progress.window.add(update, seconds)
    run.console.updated(update.tokens, seconds)
    scale = run.progress.loss_scale
    if update.left_out and scale is not None and scale.left_out == 1:
        run.console.say(scale.notice(run.progress.update))


def _validation_due(run: Run, update: Update, total: int) -> bool:
    """Returns whether the dev split is to be scored after this update: every so often, and after the last one."""
    options = run.config.training
    progress = run.progress
    is_last = progress.update == total or (update.ends_epoch and progress.epoch == options.epochs)
    if options.validate_every is None:
        return update.ends_epoch or is_last
    return is_last or _is_multiple(progress.update, options.validate_every)


def _is_multiple(update: int, period: int | None) -> bool:
    return period is not None and update % period == 0


def _nothing_left(run: Run, total: int) -> str:
    """Returns a sentence for the log where a resumed run has no update left to make, else an empty text."""
    progress = run.progress
    options = run.config.training
    if stopped_early(run):
        return (
            f"nothing is left to train: the run has stopped early; raise training.patience={options.patience} to go on"
        )
    if progress.epoch > options.epochs or progress.update >= total:
        more = "training.epochs" if options.max_updates is None else "training.max_updates or training.epochs"
        return f"nothing is left to train after update {progress.update:,}: raise {more} to go on"
    return ""


def validate_and_save(run: Run) -> None:
    """Validates if a validation is due, then saves a checkpoint. Prints a line if training stops early."""
    is_due = run.progress.validation_due
    is_best = False
    if is_due:
        with run.evaluating():
            is_best = validate(run)
    # Before the checkpoint is written: a run that is resumed from it does not validate again.
    run.progress.validation_due = False
    save(run, is_best=is_best)
    if is_due and stopped_early(run):
        run.console.say(f"stopped: no new best {run.metric} in {run.config.training.patience} validations")


def log_window(run: Run, lr: float) -> None:
    """Logs the mean losses and the speed since the previous line. lr: the learning rate of the last update."""
    progress = run.progress
    # The means of this window, and a new window.
    means = progress.window.means() | {"lr": lr}
    if progress.loss_scale:
        means["loss_scale"] = progress.loss_scale.factor
    progress.window = LogWindow()
    progress.last_speed = means["tokens_per_second"]
    if run.log:
        run.log.scalars("train", progress.update, {"epoch": progress.epoch, "tokens": progress.tokens, **means})
    run.console.logged(progress, means)


def stopped_early(run: Run) -> bool:
    """Returns whether `training.patience` validations in a row were no better than the best."""
    patience = run.config.training.patience
    return patience is not None and run.progress.bad_validations[-1] >= patience


def choose_best(run: Run) -> None:
    """Leaves the best weights in the model: a checkpoint's, their moving average, or the mean of the last
    validations."""
    # The candidates: each mean that scores better than the best checkpoint takes its place.
    folders = run.processes.decided_by_first(lambda: checkpoints_to_average(run))
    say_advice(run, at_the_end=True)
    if run.moving_average is not None:
        run.moving_average.fill()
        is_best = _beats_best(run, "moving average")
        save(run, is_best=is_best, mean="ema", ema_decay=run.moving_average.decay)
    if len(folders) > 1:
        if run.processes.is_first:
            # Not strict, since files have a tensor that the model shares only once.
            run.model.load_state_dict(checkpoint.average(folders), strict=False)
        run.processes.broadcast_weights(run.model)
        if _beats_best(run, f"average of the last {len(folders)}"):
            save(run, is_best=True, mean="average", averaged=run.progress.validations[-len(folders) :])
    # The first process loads the best one, and sends it to the others.
    if run.processes.is_first:
        model, _, _ = checkpoint.load_model(run.folder, "best")
        run.model.load_state_dict(model.state_dict())
    run.processes.broadcast_weights(run.model)
    chosen = run.processes.decided_by_first(lambda: weights_name(origin(run.folder, "best")))
    run.console.say(f"testing the {chosen}" if run.config.training.test else f"not tested: the {chosen}")


def _beats_best(run: Run, name: str) -> bool:
    """Scores the present weights, prints the scores under a name, and returns whether they are the best so far. If so,
    they become the run's best scores."""
    with run.evaluating():
        validation = measure(run)
    is_best = improves(validation.scores, run.progress.best, run.metric)
    note = "  (best)" if is_best else "  (not better than the best)"
    run.console.say(scores_shown(name, validation.scores, note + cut_shown(validation)))
    if is_best:
        run.progress.best = validation.scores
    return is_best
