"""The live parts of a run: made, saved, and made again from what was saved."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus, sources
from mt.decoding import decodes_hard
from mt.device import choose, reset_peak_memory
from mt.errors import UserError
from mt.inference import Translator
from mt.models.seq2seq import Seq2Seq
from mt.optim.optimizer import build_optimizer
from mt.parsing import Options, parse
from mt.storage import locked, mend, point, read_json, remove, subfolder, write_json
from mt.training.checks import chosen_metric, require_fit
from mt.training.console import Console
from mt.training.folder import new_folder
from mt.training.freezing import freeze
from mt.training.initialisation import initialise
from mt.training.log import Log
from mt.training.loop import Progress
from mt.training.resumption import load_snapshot, moments, restore_generators, restore_moments, snapshot
from mt.training.signals import Signals

RUN = "run.json"
"""Tells a folder for a run's, and in which format it is."""


class Marked(Options):
    """`run.json`."""

    format: int


@dataclass
class Run:
    """The live parts of a run. No other process can have them while they are open."""

    config: Config
    corpus: Corpus
    folder: Path
    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    progress: Progress
    log: Log
    lock: contextlib.ExitStack
    signals: Signals = field(default_factory=Signals)
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

    def close(self) -> None:
        """Lets go of the folder."""
        with self.lock:
            self.log.close()


def begin(config: Config, corpus: Corpus, wanted: Path, place: Callable[[Path], Path] = new_folder) -> Run:
    """A new run, in the folder wanted or, where that is taken, in one beside it.

    place: makes the folder. Raises UserError where the parts do not fit together; no folder is made then.
    """
    device = choose(config.device)
    reset_peak_memory(device)
    torch.manual_seed(config.seed)
    model = Seq2Seq(config, *corpus.tokenizers.sizes).to(device)
    require_fit(config, corpus, model)
    model.frontend.fit(sources(corpus.training))
    taken = initialise(model, corpus.tokenizers, config) if config.init_from else None
    frozen = freeze(model, config.training.freeze)
    folder = place(wanted)
    lock = _locked(folder)
    if checkpoint.newest(folder) is not None:
        lock.close()
        raise UserError(f"another process has trained in {folder} meanwhile: run the same command again")
    write_json(folder / RUN, Marked(format=checkpoint.FORMAT).model_dump())
    optimizer = build_optimizer(config.optimizer, model)
    run = Run(config, corpus, folder, model, optimizer, Progress(), Log(folder, update=0), lock)
    for note in filter(None, (taken, frozen)):
        run.console.say(note)
    return run


def resume(config: Config, corpus: Corpus, folder: Path) -> Run:
    """A run as its newest checkpoint left it, to the bit on the CPU. config: the checkpoint's, or with more epochs.

    What a killed process left half done in the folder is mended. Raises UserError where another process has the run,
    or a file is damaged, or of another format or corpus.
    """
    _require_format(folder)
    with _locked(folder) as lock:
        mend(subfolder(folder, "checkpoints"))
        newest = checkpoint.locate(checkpoint.newest(folder) or folder, "last")
        model, _, _ = checkpoint.load_model(newest, "last")
        about = checkpoint.load_meta(newest)
        if about.corpus != corpus.meta["fingerprint"]:
            raise UserError(
                f"{folder} was trained on another corpus: the text or its preparation has changed since; restore them, "
                "or start a new run"
            )
        decodes_hard(config.search, model)
        model = model.to(choose(config.device))
        freeze(model, config.training.freeze)
        optimizer = build_optimizer(config.optimizer, model)
        restore_moments(newest, config.optimizer, model, optimizer, about.update)
        restored = load_snapshot(newest, chosen_metric(config))
        progress = _linked(folder / "checkpoints", newest, restored.progress, chosen_metric(config))
        restore_generators(newest, restored)
        run = Run(
            config, corpus, folder, model, optimizer, progress, Log(folder, update=progress.update), lock.pop_all()
        )
    prune(run)
    return run


def save(run: Run, *, is_best: bool) -> None:
    """Writes this update's checkpoint, points `best` and `last` to it, and deletes those no longer of use."""
    folder = _folder(run.checkpoints, run.progress.update)
    _write(run, folder)
    if is_best:
        point(run.checkpoints / "best", folder)
    point(run.checkpoints / "last", folder)
    prune(run)


def keep(run: Run) -> None:
    """Saves what no checkpoint holds yet."""
    if run.progress.update and not _folder(run.checkpoints, run.progress.update).is_dir():
        save(run, is_best=False)


def save_average(run: Run, updates: list[int]) -> None:
    """Makes the model's present weights, the mean of those of some updates, and the progress the best checkpoint."""
    folder = run.checkpoints / "average"
    _write(run, folder, averaged=updates)
    point(run.checkpoints / "best", folder)


def averaged(run: Run) -> list[Path]:
    """The checkpoints of the last validations, as many as are averaged and, if that number was raised, still there."""
    updates_kept = run.progress.validations[-run.config.training.average_checkpoints :]
    folders = [_folder(run.checkpoints, update).resolve() for update in updates_kept]
    return [folder for folder in folders if folder.is_dir()]


def prune(run: Run) -> None:
    """Deletes the checkpoints that are neither best nor last nor averaged."""
    kept = {(run.checkpoints / name).resolve() for name in ("best", "last")} | set(averaged(run))
    for old in run.checkpoints.glob("update-*"):
        if old.resolve() not in kept:
            remove(old)


def _folder(checkpoints: Path, update: int) -> Path:
    return checkpoints / f"update-{update:07d}"


def _write(run: Run, folder: Path, averaged: list[int] | None = None) -> None:
    subfolder(run.folder, run.checkpoints.name)
    progress = run.progress
    about = checkpoint.About(
        update=progress.update,
        metric=run.metric,
        best=progress.best,
        averaged=averaged,
        corpus=run.corpus.meta["fingerprint"],
    )
    training = None if averaged else moments(run.model, run.optimizer)
    checkpoint.save(folder, run.model, run.corpus.tokenizers, run.config, about, snapshot(progress), training)


def _linked(checkpoints: Path, newest: Path, progress: Progress, metric: str) -> Progress:
    """Points `best` and `last` to where they belong, after a kill at any moment of saving; returns the progress that
    goes with `best`.

    newest: the checkpoint that is resumed, and `progress` its own. metric: what chooses the best.
    """
    best, last = checkpoints / "best", checkpoints / "last"
    present = (best / checkpoint.META).is_file()
    about = checkpoint.load_meta(best) if present else None
    if about and about.averaged and about.update == progress.update:
        progress = load_snapshot(best, metric).progress
    elif progress.best_update is not None and (progress.best_update == progress.update or not present):
        wanted = _folder(checkpoints, progress.best_update)
        if not (wanted / checkpoint.META).is_file():
            raise UserError(f"{wanted}, the best checkpoint of the run, is missing: copy the whole run folder again")
        point(best, wanted)
    if last.resolve() != newest:
        point(last, newest)
    return progress


def _locked(folder: Path) -> contextlib.ExitStack:
    stack = contextlib.ExitStack()
    try:
        stack.enter_context(locked(folder / ".lock"))
    except BlockingIOError:
        raise UserError(f"another process trains in {folder}: wait for its end, or start a new run") from None
    return stack


def _require_format(folder: Path) -> None:
    path, newest = folder / RUN, checkpoint.locate(folder, "last")
    checkpoint.load_meta(newest)
    if not path.is_file():
        raise UserError(f"{path} is missing: copy the whole run folder again")
    about = parse(read_json(path, "copy the whole run folder again"), Marked, str(path))
    if about.format != checkpoint.FORMAT:
        raise UserError(
            f"{folder} is a run of format {about.format}, and this version goes on with {checkpoint.FORMAT}: resume it "
            "with the version that began it, or train again"
        )
