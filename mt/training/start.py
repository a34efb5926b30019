"""Runs that begin, and runs that go on from their newest checkpoint."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import torch

from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus, sources
from mt.decoding.modes import decodes_hard
from mt.device import reset_peak_memory
from mt.distributed import ALONE, ProcessGroup
from mt.errors import UserError
from mt.kernels.programs import keep_programs
from mt.models.frontends import FRONTENDS
from mt.models.seq2seq import Seq2Seq
from mt.storage import repair, subfolder
from mt.training.checks import chosen_metric, require_alike, require_fit, require_work
from mt.training.folder import mark, new_folder, require_format, take
from mt.training.freezing import freeze
from mt.training.initialisation import initialise
from mt.training.limits import with_limits
from mt.training.moving_average import MovingAverage
from mt.training.optimizer import build_optimizer, restore_moments
from mt.training.pretrained import load_pretrained
from mt.training.progress import Progress
from mt.training.resumption import load_snapshot, restore_generators
from mt.training.run import Run
from mt.training.saving import prune, repair_links


def begin(
    config: Config,
    corpus: Corpus,
    wanted: Path,
    processes: ProcessGroup = ALONE,
    place: Callable[[Path], Path] = new_folder,
) -> Run:
    """Begins a new run, in the folder wanted or, where that is taken, in one beside it.

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
    taken_note = initialise(model, corpus.tokenizers, config) if config.init_from else None
    vector_notes = [] if config.init_from else [*load_pretrained(model, corpus.tokenizers, config)]
    frozen_note = freeze(model, config.training.freeze)
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
    moving_average = _moving_average(config, model)
    run = Run(config, corpus, folder, model, optimizer, Progress(), lock, processes, moving_average=moving_average)
    for note in filter(None, (taken_note, *vector_notes, frozen_note)):
        run.console.say(note)
    return run


def resume(config: Config, corpus: Corpus, folder: Path, processes: ProcessGroup = ALONE) -> Run:
    """Opens a run as its newest checkpoint left it, to the bit on the CPU.

    config: the checkpoint's, or with more epochs. processes: go on with it together, as many as
    before or not. What a killed process left half done in the folder is mended. Raises UserError where another process
    has the run, or a file is damaged, or of another format or corpus.
    """
    require_alike(config, corpus, processes)
    require_format(folder)
    with take(folder, processes) as lock:
        if processes.is_first:
            repair(subfolder(folder, "checkpoints"))
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
        moving_average = _moving_average(config, model)
        restore_moments(newest, config.optimizer, model, optimizer, about.update, moving_average)
        metric = chosen_metric(config)
        restored = load_snapshot(newest, metric)
        links = folder / "checkpoints"
        progress = processes.decided_by_first(lambda: repair_links(links, newest, restored.progress, metric))
        restore_generators(newest, restored)
        held = lock.pop_all()
        run = Run(config, corpus, folder, model, optimizer, progress, held, processes, restored.logged, moving_average)
    if processes.is_first:
        prune(run)
    return run


def _moving_average(config: Config, model: Seq2Seq) -> MovingAverage | None:
    decay = config.training.ema_decay
    return None if decay is None else MovingAverage(model, decay)


def _device(config: Config, processes: ProcessGroup) -> torch.device:
    keep_programs(step_by_step=config.decoder.step_by_step, convolutions=FRONTENDS[config.frontend.name].convolutional)
    return processes.device(config.device)
