"""The live parts of a run: made, saved, and made again from what was saved."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus, sources
from mt.decoding import decodes_hard
from mt.device import keep_programs, reset_peak_memory
from mt.distributed import ALONE, ProcessGroup
from mt.errors import UserError
from mt.generators import own_generators
from mt.inference import Translator
from mt.models.frontends import FRONTENDS
from mt.models.seq2seq import Seq2Seq
from mt.storage import mend, point, remove, subfolder
from mt.training.checks import chosen_metric, require_alike, require_fit, require_work
from mt.training.console import Console
from mt.training.folder import mark, new_folder, require_format, take
from mt.training.freezing import freeze
from mt.training.initialisation import initialise
from mt.training.limits import with_limits
from mt.training.log import Log, NoLog
from mt.training.optimizer import build_optimizer, moments, restore_moments
from mt.training.progress import Progress
from mt.training.resumption import load_snapshot, restore_generators, snapshot
from mt.training.signals import Signals


@dataclass
class Run:
    """The live parts of a run. No other process can have them while they are open, but those that train with it."""

    config: Config
    corpus: Corpus
    folder: Path
    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    progress: Progress
    lock: contextlib.ExitStack
    processes: ProcessGroup = ALONE
    logged: Mapping[str, int] | None = field(default_factory=dict)
    """What its checkpoint says of the sizes of TensorBoard's files; see `Log`."""
    signals: Signals = field(default_factory=Signals)
    log: Log = field(init=False, default_factory=NoLog)
    console: Console = field(init=False)

    def __post_init__(self) -> None:
        update = self.progress.update
        validated = update in self.progress.validations
        self.console = Console(quiet=not self.processes.is_first)
        if self.processes.is_first:
            say = self.console.say
            self.log = Log(self.folder, update=update, validated=validated, sizes=self.logged, say=say)

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def translator(self) -> Translator:
        return Translator(self.model, self.corpus.tokenizers, self.config, self.processes)

    @property
    def metric(self) -> str:
        """What chooses the best checkpoint."""
        return chosen_metric(self.config)

    def evaluating(self) -> contextlib.AbstractContextManager[None]:
        """A context for what measures, draws or tests the model, which leaves training's generators as they are."""
        return own_generators(self.config.seed, self.progress.update)

    def close(self) -> None:
        """Lets go of the folder."""
        with self.lock:
            self.log.close()


def begin(
    config: Config,
    corpus: Corpus,
    wanted: Path,
    processes: ProcessGroup = ALONE,
    place: Callable[[Path], Path] = new_folder,
) -> Run:
    """A new run, in the folder wanted or, where that is taken, in one beside it.

    processes: begin it together. place: makes the folder. Raises UserError where the parts do not fit together; no
    folder is made then.
    """
    require_work(config, corpus.training, processes)
    require_alike(config, corpus, processes)
    device = _device(config, processes)
    reset_peak_memory(device)
    torch.manual_seed(config.seed)
    model = Seq2Seq(config, *corpus.tokenizers.sizes).to(device)
    require_fit(config, corpus, model)
    config = with_limits(config, corpus, model)
    model.frontend.fit(sources(corpus.training))
    taken = initialise(model, corpus.tokenizers, config) if config.init_from else None
    frozen = freeze(model, config.training.freeze)
    folder = processes.decided_by_first(lambda: place(wanted))
    try:
        processes.require_shared(folder)
    except UserError:
        with contextlib.suppress(OSError):
            folder.rmdir()
        raise
    optimizer = build_optimizer(config.optimizer, model)
    lock = take(folder, processes)
    if processes.decided_by_first(lambda: checkpoint.newest(folder)) is not None:
        lock.close()
        raise UserError(f"another process has trained in {folder} meanwhile: run the same command again")
    if processes.is_first:
        mark(folder)
    run = Run(config, corpus, folder, model, optimizer, Progress(), lock, processes)
    for note in filter(None, (taken, frozen)):
        run.console.say(note)
    return run


def resume(config: Config, corpus: Corpus, folder: Path, processes: ProcessGroup = ALONE) -> Run:
    """A run as its newest checkpoint left it, to the bit on the CPU. config: the checkpoint's, or with more epochs.

    processes: go on with it together, as many as before or not. What a killed process left half done in the
    folder is mended. Raises UserError where another process has the run, or a file is damaged, or of another format or
    corpus.
    """
    require_alike(config, corpus, processes)
    require_format(folder)
    with take(folder, processes) as lock:
        if processes.is_first:
            mend(subfolder(folder, "checkpoints"))
        newest = processes.decided_by_first(lambda: checkpoint.locate(checkpoint.newest(folder) or folder, "last"))
        model, _, _ = checkpoint.load_model(newest, "last")
        about = checkpoint.load_meta(newest)
        if about.corpus != corpus.meta["fingerprint"]:
            raise UserError(
                f"{folder} was trained on another corpus: the text or its preparation has changed since; restore them, "
                "or start a new run"
            )
        require_work(config, corpus.training, processes)
        processes.require_alike({f"checkpoint {newest.name}": about.sha256})
        decodes_hard(config.search, model)
        config = with_limits(config, corpus, model)
        model = model.to(_device(config, processes))
        freeze(model, config.training.freeze)
        optimizer = build_optimizer(config.optimizer, model)
        restore_moments(newest, config.optimizer, model, optimizer, about.update)
        metric = chosen_metric(config)
        restored = load_snapshot(newest, metric)
        links = folder / "checkpoints"
        progress = processes.decided_by_first(lambda: _linked(links, newest, restored.progress, metric))
        restore_generators(newest, restored)
        run = Run(config, corpus, folder, model, optimizer, progress, lock.pop_all(), processes, restored.logged)
    if processes.is_first:
        prune(run)
    return run


def _device(config: Config, processes: ProcessGroup) -> torch.device:
    keep_programs(max(FRONTENDS[config.frontend.name].programs, config.decoder.programs))
    return processes.device(config.device)


def save(run: Run, *, is_best: bool) -> None:
    """The first process writes this update's checkpoint, points `best` and `last` to it, deletes those of no use."""
    if not run.processes.is_first:
        return
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
    """Makes the model's present weights, the mean of those of some updates, and the progress the best checkpoint. Of
    several processes the first does."""
    if not run.processes.is_first:
        return
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
    about = checkpoint.About(
        update=run.progress.update,
        metric=run.metric,
        best=run.progress.best,
        averaged=averaged,
        corpus=run.corpus.meta["fingerprint"],
    )
    training = None if averaged else moments(run.model, run.optimizer)
    state = snapshot(run.progress, run.log.sizes())
    checkpoint.save(folder, run.model, run.corpus.tokenizers, run.config, about, state, training)


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
