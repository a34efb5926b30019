"""New runs, and runs that go on from their newest checkpoint.

First come the folder of a run and its limits of length, then `begin` and `resume`.
"""

import contextlib
from pathlib import Path

import torch

from mt import checkpoint
from mt.common.input_files import read_json
from mt.config import Config
from mt.data.corpus import Corpus, sources
from mt.decoding.modes import require_compatible
from mt.device import reset_peak_memory
from mt.distributed import ALONE, ProcessGroup
from mt.errors import UserError
from mt.kernels.threads import keep_programs
from mt.models.frontends import FRONTENDS
from mt.models.seq2seq import Seq2Seq
from mt.search.options import fit_length_limits
from mt.storage import locked, repair, subfolder, write_json
from mt.training.initialisation import initialise, load_pretrained
from mt.training.loop import Progress
from mt.training.optimizer import MovingAverage, build_optimizer, freeze, restore_moments
from mt.training.run import Run, chosen_metric, require_alike, require_fit, require_work
from mt.training.saving import load_snapshot, prune, repair_links, restore_generators

# The folder of a run: it is made, looked up, checked and locked.

RUN = "run.json"
"""The file that marks a folder as a run's, with its format."""
AUTO = "auto"
"""The value of `resume=` in place of a run folder. So one command begins a run, and goes on with it after a queue took
its machine."""


def run_of(path: Path) -> Path:
    """Returns the run folder that a path names: itself, or the folder of the checkpoint that it is."""
    # A link, such as `last`, may lie among checkpoints, or lead to one.
    for folder in (path, path.resolve()):
        if folder.parent.name == "checkpoints" and not (folder / "checkpoints").exists():
            return folder.parent.parent
    if (path / checkpoint.META).is_file():
        raise UserError(f"{path} is a checkpoint without its run: resume the run folder that training printed")
    return path


def lock_run(folder: Path, processes: ProcessGroup) -> contextlib.ExitStack:
    """Locks a run's folder; of several processes the first does. Raises UserError where others hold the lock."""
    stack = contextlib.ExitStack()
    if not processes.is_first:
        return stack
    try:
        stack.enter_context(locked(folder / ".lock"))
    except BlockingIOError:
        raise UserError(f"another process trains in {folder}: wait for its end, or start a new run") from None
    return stack


def require_format(folder: Path) -> None:
    """Raises UserError where the run is of another format."""
    path = folder / RUN
    checkpoint.load_meta(checkpoint.locate(folder, "last"))
    if not path.is_file():
        raise UserError(f"{path} is missing: copy the whole run folder again")
    found = read_json(path, "copy the whole run folder again").get("format")
    if found != checkpoint.FORMAT:
        raise UserError(
            f"{folder} is a run of format {found}, and this version goes on with {checkpoint.FORMAT}: resume "
            "it with the version that began it, or train again"
        )


# The limits of length of the hypotheses, chosen from the training pairs.


def with_limits(config: Config, corpus: Corpus, model: Seq2Seq) -> Config:
    """Returns the configuration with `search.max_ratio` and `search.max_extra` that cover the training pairs, where it
    sets no limit."""
    search = config.search
    train = corpus.split("train")
    if search.limited or not len(train):
        return config
    sources, targets = train.lengths()
    ratio, extra = fit_length_limits(model.frontend.output_lengths(torch.from_numpy(sources)).numpy(), targets)
    limits = {"max_ratio": ratio, "max_extra": search.max_extra or extra}
    return config.model_copy(update={"search": search.model_copy(update=limits)})


# The start itself: `begin` and `resume`.


def moving_average_of(model: Seq2Seq, config: Config) -> MovingAverage | None:
    """Returns the moving average of a model's weights where `training.ema_decay` asks for one."""
    decay = config.training.ema_decay
    return None if decay is None else MovingAverage(model, decay)


def begin(config: Config, corpus: Corpus, folder: Path, processes: ProcessGroup = ALONE) -> Run:
    """Begins a new run in a folder, which is made where it is missing.

    processes: begin it together. Raises UserError where configuration, corpus and model do not fit together, where the
    folder holds a checkpoint, and where another process trains there.
    """
    # The checks that need no model.
    require_work(config, corpus.split("train"), processes)
    require_alike(config, corpus, processes)
    # The model, its weights drawn from the seed alone, then fitted to the data or taken from elsewhere.
    keep_programs(convolutions=FRONTENDS[config.frontend.name].convolutional)
    device = processes.device(config.device)
    reset_peak_memory(device)
    torch.manual_seed(config.seed)
    model = Seq2Seq(config, *corpus.tokenizers.sizes).to(device)
    require_fit(config, corpus, model)
    config = with_limits(config, corpus, model)
    model.frontend.fit(sources(corpus.split("train")))
    if config.init_from is None:
        notes = [*load_pretrained(model, corpus.tokenizers, config)]
        initialisation: str | None = checkpoint.digest(model)
    else:
        # This run began where the earlier one began, so that their checkpoints may be averaged.
        notes = [initialise(model, corpus.tokenizers, config)]
        initialisation = checkpoint.load_meta(checkpoint.locate(Path(config.init_from), "best")).initialisation
    if config.training.freeze:
        notes.append(freeze(model, config.training.freeze))
    # The folder, which all processes must see and no other may have.
    processes.decided_by_first(lambda: folder.mkdir(parents=True, exist_ok=True))
    processes.require_shared(folder)
    lock = lock_run(folder, processes)
    if processes.decided_by_first(lambda: checkpoint.newest(folder)) is not None:
        lock.close()
        raise UserError(f"{folder} holds a run already: give another folder=, or go on with it by resume=auto")
    if processes.is_first:
        write_json(folder / RUN, {"format": checkpoint.FORMAT})
        repair(subfolder(folder, "checkpoints"))
    # The run, which says the notes of the steps so far.
    trained = model, build_optimizer(config.optimizer, model), moving_average_of(model, config)
    run = Run(config, corpus, folder, *trained, Progress(), lock, processes, initialisation)
    for note in notes:
        run.console.say(note)
    return run


def resume(config: Config, corpus: Corpus, folder: Path, processes: ProcessGroup = ALONE) -> Run:
    """Opens a run as its newest checkpoint left it, to the bit on the CPU.

    config: the checkpoint's, or with more epochs. processes: go on with it together, as many as before or not. A
    half-finished save of a killed process is mended. Raises UserError where another process has the run, or a file is
    damaged, or of another format or corpus.
    """
    require_alike(config, corpus, processes)
    require_format(folder)
    with lock_run(folder, processes) as lock:
        # A half-finished save is mended first, so that the newest checkpoint is a whole one.
        if processes.is_first:
            repair(subfolder(folder, "checkpoints"))
        newest = processes.decided_by_first(lambda: checkpoint.locate(checkpoint.newest(folder) or folder, "last"))
        # It must be of this corpus, and the same for all processes.
        model, _, _ = checkpoint.load_model(newest, "last")
        about = checkpoint.load_meta(newest)
        if about.corpus != corpus.meta["fingerprint"]:
            raise UserError(
                f"{folder} was trained on another corpus: the text or its preparation has changed since; restore them, "
                "or start a new run"
            )
        require_work(config, corpus.split("train"), processes)
        processes.require_alike({f"checkpoint {newest.name}": about.sha256})
        require_compatible(config.search, model)
        # The model on its device, then the state of training: moments, averages, progress, random generators.
        config = with_limits(config, corpus, model)
        keep_programs(convolutions=FRONTENDS[config.frontend.name].convolutional)
        model = model.to(processes.device(config.device))
        if config.training.freeze:
            freeze(model, config.training.freeze)
        optimizer = build_optimizer(config.optimizer, model)
        moving_average = moving_average_of(model, config)
        restore_moments(newest, config.optimizer, model, optimizer, about.update, moving_average)
        metric = chosen_metric(config)
        restored = load_snapshot(newest, metric)
        links = folder / "checkpoints"
        progress = processes.decided_by_first(lambda: repair_links(links, newest, restored.progress, metric))
        restore_generators(newest, restored)
        trained = model, optimizer, moving_average
        # From here on the run holds the lock, which an error before this line has released.
        held = lock.pop_all()
        run = Run(config, corpus, folder, *trained, progress, held, processes, about.initialisation)
    if processes.is_first:
        prune(run)
    return run
