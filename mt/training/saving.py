"""The checkpoints of a run: which are written and kept, and what `best` and `last` point to."""

from pathlib import Path

from mt import checkpoint
from mt.errors import UserError
from mt.storage import point_link, remove, subfolder
from mt.training.optimizer import moments
from mt.training.progress import Progress
from mt.training.resumption import load_snapshot, snapshot
from mt.training.run import Run


def save(run: Run, *, is_best: bool) -> None:
    """Writes this update's checkpoint, points `last` and maybe `best` to it, and deletes those of no use. Of several
    processes the first does."""
    if not run.processes.is_first:
        return
    folder = _folder(run.checkpoints, run.progress.update)
    _write(run, folder)
    if is_best:
        point_link(run.checkpoints / "best", folder)
    point_link(run.checkpoints / "last", folder)
    prune(run)


def save_unsaved(run: Run) -> None:
    """Saves the updates that no checkpoint holds yet."""
    if run.progress.update and not _folder(run.checkpoints, run.progress.update).is_dir():
        save(run, is_best=False)


def save_average(run: Run, updates: list[int]) -> None:
    """Saves the present weights, which are the mean of those of some updates, as the best checkpoint. Of several
    processes the first does."""
    if not run.processes.is_first:
        return
    folder = run.checkpoints / "average"
    _write(run, folder, averaged=updates)
    point_link(run.checkpoints / "best", folder)


def save_moving_average(run: Run, decay: float, *, is_best: bool) -> None:
    """Saves the present weights, which are the moving average of this decay, as the checkpoint `ema`, and points
    `best` to it where it is. Of several processes the first does."""
    if not run.processes.is_first:
        return
    folder = run.checkpoints / "ema"
    _write(run, folder, ema_decay=decay)
    if is_best:
        point_link(run.checkpoints / "best", folder)


def checkpoints_to_average(run: Run) -> list[Path]:
    """Returns the checkpoints of the last validations, as many as are averaged and, if that number was raised, still
    there."""
    averaged_updates = run.progress.validations[-run.config.training.average_checkpoints :]
    folders = [_folder(run.checkpoints, update).resolve() for update in averaged_updates]
    return [folder for folder in folders if folder.is_dir()]


def prune(run: Run) -> None:
    """Deletes the checkpoints that are neither best nor last nor averaged."""
    needed = {(run.checkpoints / name).resolve() for name in ("best", "last")}
    needed.update(checkpoints_to_average(run))
    for old in run.checkpoints.glob("update-*"):
        if old.resolve() not in needed:
            remove(old)


def _folder(checkpoints: Path, update: int) -> Path:
    return checkpoints / f"update-{update:07d}"


def _write(run: Run, folder: Path, averaged: list[int] | None = None, ema_decay: float | None = None) -> None:
    subfolder(run.folder, run.checkpoints.name)
    about = checkpoint.About(
        update=run.progress.update,
        metric=run.metric,
        best=run.progress.best,
        averaged=averaged,
        ema_decay=ema_decay,
        corpus=run.corpus.meta["fingerprint"],
    )
    training = None if about.is_mean else moments(run.model, run.optimizer)
    if training is not None and run.moving_average is not None:
        training |= run.moving_average.tensors()
    state = snapshot(run.progress, run.log.sizes() if run.log else {})
    checkpoint.save(folder, run.model, run.corpus.tokenizers, run.config, about, state, training)


def repair_links(checkpoints: Path, newest: Path, progress: Progress, metric: str) -> Progress:
    """Points `best` and `last` to where they belong, after a kill at any moment of saving; returns the progress that
    goes with `best`.

    newest: the checkpoint that is resumed, with its `progress`. metric: chooses the best.
    """
    best = checkpoints / "best"
    last = checkpoints / "last"
    present = (best / checkpoint.META).is_file()
    about = checkpoint.load_meta(best) if present else None
    if about and about.is_mean and about.update == progress.update:
        progress = load_snapshot(best, metric).progress
    elif progress.best_update is not None and (progress.best_update == progress.update or not present):
        wanted = _folder(checkpoints, progress.best_update)
        if not (wanted / checkpoint.META).is_file():
            raise UserError(f"{wanted}, the best checkpoint of the run, is missing: copy the whole run folder again")
        point_link(best, wanted)
    if last.resolve() != newest:
        point_link(last, newest)
    return progress
