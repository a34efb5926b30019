"""The checkpoints of a run. First comes `progress.json` (`Snapshot`), then saving, with the links `best` and `last`,
then the mean of chosen checkpoints."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mt import checkpoint
from mt.common.options import Count, Options, parse
from mt.common.terminal import say
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError
from mt.storage import point_link, remove, subfolder
from mt.training.loop import Progress
from mt.training.optimizer import moments
from mt.training.run import Run

# `progress.json` of a checkpoint: the progress of the run, and its random generators. All of it is checked when read.


class Snapshot(Options):
    """`progress.json` of a checkpoint."""

    progress: Progress
    random: str
    """The state of the CPU's random generator, in hexadecimal digits."""
    random_cuda: list[str]
    """The state of each GPU's generator."""
    logged: dict[str, Count] | None = None
    """The sizes of TensorBoard's files, which earlier versions kept. Nothing reads them."""


def snapshot(progress: Progress) -> dict[str, Any]:
    """Returns the content of `progress.json`."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    random, *random_cuda = (state.numpy().tobytes().hex() for state in (torch.get_rng_state(), *cuda))
    state = Snapshot(progress=progress, random=random, random_cuda=random_cuda)
    return state.model_dump(mode="json", exclude={"logged"})


def load_snapshot(folder: Path, metric: str) -> Snapshot:
    """Reads `progress.json` of a checkpoint. Raises UserError where no run with this metric can have written it."""
    path = folder / checkpoint.PROGRESS
    loaded = parse(checkpoint.load_progress(folder), Snapshot, str(path))
    update = checkpoint.load_meta(folder).update
    fault = loaded.progress.fault(metric)
    # One save writes both files: other numbers are those of two checkpoints.
    if fault is None and loaded.progress.update != update:
        fault = f"update {loaded.progress.update:,}, and {checkpoint.META} has {update:,}"
    if fault:
        raise UserError(f"{path} is damaged ({fault}): copy the checkpoint again")
    return loaded


def restore_generators(folder: Path, loaded: Snapshot) -> None:
    """Sets the random generators. GPUs that either machine lacks are left out."""
    try:
        torch.set_rng_state(_state(loaded.random))
        for device, state in zip(range(torch.cuda.device_count()), loaded.random_cuda, strict=False):
            torch.cuda.set_rng_state(_state(state), device)
    except (ValueError, RuntimeError, TypeError):
        path = folder / checkpoint.PROGRESS
        raise UserError(f"{path} holds no state of random generators: copy the checkpoint again") from None


def _state(text: str) -> Tensor:
    return torch.tensor(list(bytes.fromhex(text)), dtype=torch.uint8)


# The checkpoints that are written and kept, and the links `best` and `last`.


def save(
    run: Run, *, is_best: bool, mean: str = "", averaged: list[int] | None = None, ema_decay: float | None = None
) -> None:
    """Writes this update's checkpoint, points `last` and maybe `best` to it, and deletes unused ones. Of several
    processes the first does.

    mean: the name of the checkpoint where the present weights are a mean or a moving average. Training does not go on
    from them.
    """
    if not run.processes.is_first:
        return
    # The checkpoint.
    folder = subfolder(run.folder, run.checkpoints.name) / (mean or _name(run.progress.update))
    about = checkpoint.About(
        update=run.progress.update,
        metric=run.metric,
        best=run.progress.best,
        averaged=averaged,
        ema_decay=ema_decay,
        corpus=run.corpus.meta["fingerprint"],
        initialisation=run.initialisation,
    )
    # Training never goes on from a mean, so that it needs no moments.
    training = None if mean else moments(run.model, run.optimizer)
    if training is not None and run.moving_average is not None:
        training |= run.moving_average.tensors()
    state = snapshot(run.progress)
    checkpoint.save(folder, run.model, run.corpus.tokenizers, run.config, about, state, training)
    # The links to it.
    if is_best:
        point_link(run.checkpoints / "best", folder)
    if not mean:
        point_link(run.checkpoints / "last", folder)
        prune(run)


def save_unsaved(run: Run) -> None:
    """Saves the updates that no checkpoint holds yet."""
    if run.progress.update and not (run.checkpoints / _name(run.progress.update)).is_dir():
        save(run, is_best=False)


def checkpoints_to_average(run: Run) -> list[Path]:
    """Returns the checkpoints of the last validations, as many as are averaged, without deleted ones."""
    averaged_updates = run.progress.validations[-run.config.training.average_checkpoints :]
    folders = [(run.checkpoints / _name(update)).resolve() for update in averaged_updates]
    return [folder for folder in folders if folder.is_dir()]


def prune(run: Run) -> None:
    """Deletes the checkpoints that are neither best nor last nor averaged."""
    needed = {(run.checkpoints / name).resolve() for name in ("best", "last")}
    needed.update(checkpoints_to_average(run))
    for old in run.checkpoints.glob("update-*"):
        if old.resolve() not in needed:
            remove(old)


def _name(update: int) -> str:
    return f"update-{update:07d}"


def repair_links(checkpoints: Path, newest: Path, progress: Progress, metric: str) -> Progress:
    """Points `best` and `last` to their checkpoints, after a kill at any moment of saving; returns the progress that
    goes with `best`.

    newest: the checkpoint that is resumed, with its `progress`. metric: chooses the best.
    """
    # A kill may have come after a checkpoint was written, and before a link pointed to it.
    best = checkpoints / "best"
    last = checkpoints / "last"
    present = (best / checkpoint.META).is_file()
    about = checkpoint.load_meta(best) if present else None
    if about and (about.averaged or about.ema_decay) and about.update == progress.update:
        # A mean is chosen after the last update: its scores stand in its own progress, and not in that of the update.
        progress = load_snapshot(best, metric).progress
    elif progress.best_update is not None and (progress.best_update == progress.update or not present):
        wanted = checkpoints / _name(progress.best_update)
        if not (wanted / checkpoint.META).is_file():
            raise UserError(f"{wanted}, the best checkpoint of the run, is missing: copy the whole run folder again")
        point_link(best, wanted)
    if last.resolve() != newest:
        point_link(last, newest)
    return progress


# The mean of chosen checkpoints, as `mt average` makes it.


def average_checkpoints(paths: Sequence[Path], out: Path) -> list[int]:
    """Writes the mean of the weights of checkpoints to a new folder, which can be loaded, evaluated and started from;
    returns their updates.

    paths: of checkpoints, or of runs, for their best ones; at least two. Raises UserError where one cannot be loaded,
    or has another vocabulary or other tensors than the first. An existing folder is refused, too, before any writing.
    """
    # Two or more different ones, and a new folder.
    if len(paths) < 2:
        raise UserError("there is nothing to average: give two checkpoints or more, such as RUN/checkpoints/update-*")
    if out.exists() or out.is_symlink():
        raise UserError(f"{out} exists, and a checkpoint is not written over: give a new folder")
    folders = [checkpoint.locate(path, "best") for path in paths]
    if len(set(folders)) < len(folders):
        raise UserError("a checkpoint is given twice (a run stands for its best one): give each once")
    # The others must have the vocabulary and the tensors of the first, and have learnt from the same initial weights.
    model, tokenizers, config = checkpoint.load_model(folders[0], "best")
    metas = [checkpoint.load_meta(folder) for folder in folders]
    for path, folder in zip(paths[1:], folders[1:], strict=True):
        if Tokenizers.load(folder).digest() != tokenizers.digest():
            raise UserError(f"{path} has another vocabulary than {paths[0]}: average checkpoints of one run")
    mean = checkpoint.average(folders)
    unknown = _require_related(paths, metas)
    if unknown:
        say(unknown)
    # The mean is written as the first checkpoint would be, with the updates of all.
    model.load_state_dict(mean, strict=False)
    updates = sorted(meta.update for meta in metas)
    about = checkpoint.About(
        update=updates[-1],
        averaged=updates,
        metric=metas[0].metric,
        best=None,
        corpus=metas[0].corpus,
        initialisation=None if unknown else metas[0].initialisation,
    )
    checkpoint.save(out, model, tokenizers, config, about, checkpoint.load_progress(folders[0]), None)
    return updates


def _require_related(paths: Sequence[Path], metas: Sequence[checkpoint.Meta]) -> str:
    """Raises UserError where checkpoints began at other weights; returns a warning where they do not say, else ""."""
    # Checkpoints that say which weights they began with must say the same.
    known = {path: meta.initialisation for path, meta in zip(paths, metas, strict=True) if meta.initialisation}
    for path, begun in known.items():
        known_path, expected = next(iter(known.items()))
        if begun != expected:
            raise UserError(
                f"{path} and {known_path} learnt from other initial weights, so that their mean means nothing: "
                "average checkpoints of one run, or of runs related by init_from"
            )
    if len(known) < len(metas):
        return (
            "!!! a checkpoint of an earlier version does not say which weights it began with: if the runs did not "
            "start from one another, the mean means nothing"
        )
    return ""
