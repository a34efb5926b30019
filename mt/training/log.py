"""The records of a run: a bar or lines on the console, metrics.jsonl, and TensorBoard.

`Console` comes first, with the texts that it shows; then `Log`, the only module that imports tensorboard."""

import contextlib
import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch.utils.tensorboard import SummaryWriter

from mt.common.input_files import open_regular, parse_json
from mt.common.terminal import SECONDS, Bar, say_beside
from mt.config import Config
from mt.data.corpus import SPLITS, Corpus
from mt.device import has_bfloat16
from mt.distributed import ALONE, ProcessGroup
from mt.errors import UserError, counted
from mt.evaluation.scoring import notes_of
from mt.models.seq2seq import Seq2Seq
from mt.storage import open_to_append, subfolder, write_text
from mt.text_io import byte_lines
from mt.training.loop import Progress

# On the console a bar is drawn; a log file or a pipe gets a line every so often.

_LABEL = 8
"""Columns of the names at the start."""


class Console:
    """Text goes to standard output, and bars to standard error, where that is a terminal."""

    def __init__(self, seconds: float = SECONDS, *, quiet: bool = False) -> None:
        """
        Args:
            seconds: the time between two lines.
            quiet: whether this process shows no bar, since another process shows the same.
        """
        self.bars = sys.stderr.isatty() and not quiet
        """Whether to show bars."""
        self._lines = not (self.bars and sys.stdout.isatty())
        self._seconds = seconds
        self._last_line = time.monotonic()
        self._bar: Bar | None = None
        self._total: int | None = None
        self._pace = Pace()

    def say(self, text: str) -> None:
        """Prints a text at once, without tearing a bar."""
        say_beside(text)

    @contextlib.contextmanager
    def training(self, progress: Progress, total: int | None) -> Iterator[None]:
        """Shows the progress of training in a context. total: the updates of the whole run, None where unknown."""
        self._total = total
        if not self.bars:  # `logged` prints lines
            yield
            return
        with Bar("training", total, "updates", done=progress.update, seconds=None) as self._bar:
            yield

    def updated(self, tokens: int, seconds: float) -> None:
        """Advances the bar by an update of so many tokens and seconds; warns once where updates become much slower."""
        if self._bar is not None:
            self._bar.update()
        if (times := self._pace.slower(tokens, seconds)) is not None:
            self.say(f"  warning: {slow_notice(times, torch.get_num_threads())}")

    def logged(self, progress: Progress, means: Mapping[str, float]) -> None:
        """Shows the means of a line of the log (`LogWindow.means`), at most every so many seconds."""
        if self._bar is not None:
            self._bar.note({"epoch": progress.epoch, "loss": f"{means['loss']:.3f}"})
        if self._lines and time.monotonic() - self._last_line >= self._seconds:
            self._last_line = time.monotonic()
            self.say(_line(progress, means, self._total))


class Pace:
    """Finds out whether updates have become several times slower than the fastest ones of this process.

    It compares windows of updates, since batches differ in length. Two slow windows in a row count: a single one may
    come from a process that was halted for a while.
    """

    UPDATES = 20
    SECONDS = 2.0
    """A window has at least so many updates, and takes at least so long."""
    FACTOR = 3.0

    def __init__(self) -> None:
        self._updates = 0
        self._tokens = 0
        self._seconds = 0.0
        self._fastest = 0.0
        """Tokens a second of the fastest window."""
        self._slow = 0
        """Slow windows in a row."""
        self._told = False

    def slower(self, tokens: int, seconds: float) -> float | None:
        """Counts an update. Returns once how many times slower than the fastest window updates have become."""
        self._updates += 1
        self._tokens += tokens
        self._seconds += seconds
        if self._told or self._updates < self.UPDATES or self._seconds < self.SECONDS:
            return None
        # The window is full: its speed counts, and another one begins.
        speed = self._tokens / self._seconds
        self._updates = self._tokens = 0
        self._seconds = 0.0
        self._fastest = max(self._fastest, speed)
        self._slow = self._slow + 1 if speed * self.FACTOR < self._fastest else 0
        self._told = self._slow == 2
        return self._fastest / speed if self._told else None


def slow_notice(times: float, threads: int) -> str:
    """Returns the notice that updates take so many times as long as before, and what to do."""
    fewer = ", resume with OMP_NUM_THREADS=1, which loses least beside them," if threads > 1 else ""
    return (
        f"updates take {times:.0f} times as long as the fastest ones before: other processes may keep this machine "
        f"busy (see `top`); wait for their end{fewer} or resume elsewhere (this is said once)"
    )


def heading(
    config: Config,
    corpus: Corpus,
    model: Seq2Seq,
    folder: Path,
    progress: Progress,
    total: int | None,
    processes: ProcessGroup = ALONE,
) -> str:
    """Returns the head of a run's log: its folder, its data, and the size of the model."""
    # The data. Sound and pictures have no pieces.
    sizes = {name: len(corpus.split(name)) for name in SPLITS}
    tokens = f"{corpus.split('train').lengths()[1].sum():,} target tokens"
    train = f"{sizes['train']:,} pairs, {tokens}"
    source, target = (f"{len(side):,}" for side in corpus.tokenizers)
    written = corpus.split("train").source.written
    transcript = corpus.tokenizers.transcript
    pieces = f"{source} source, {target} target" if written else f"{target} target"
    # The model.
    parameters = sum(parameter.numel() for parameter in model.parameters())
    device = next(model.parameters()).device
    kinds = [config.encoder.name, config.attention.name, config.decoder.name]
    model_parts = ", ".join(kinds if written else [config.frontend.name, *kinds])
    # The length of the training, and the size of an update.
    epochs = counted(config.training.epochs, "epoch")
    amount = epochs if total is None else f"{total:,} updates, at most {epochs}"
    begun = f", from update {progress.update:,}" if progress.update else ""
    accumulation = config.training.gradient_accumulation
    size = config.training.batch_tokens
    update = f"{counted(accumulation, 'batch', 'es')} of {size:,} tokens, in all {accumulation * size:,}"
    lines = {
        "folder": str(folder),
        "device": f"{device}, {config.precision}",
        "model": f"{model_parts}: {parameters:,} parameters",
        "data": f"{config.dataset.name}: {train}; dev {sizes['dev']:,}, test {sizes['test']:,}",
        "pieces": pieces if transcript is None else f"{pieces}, {len(transcript):,} transcript",
        "training": f"{amount}{begun}",
        "limit": f"hypotheses of at most {config.search.limit}",
        "loss": "nats per target token without label smoothing, in training as on dev",
    }
    if accumulation > 1:
        lines["update"] = f"{update}, of {processes.size} processes" if processes.size > 1 else update
    # Warnings: scores that do not suit the data, a slow processor.
    references = corpus.split("dev").column("references")
    notes = [("note", note) for note in notes_of(config.dataset, references, online=config.search.timed)]
    if config.precision == "bf16" and not has_bfloat16(device):
        notes.append(("note", "this processor has no fast instructions for bfloat16: bf16 is computed as fp32"))
    return "\n".join(f"{name:<{_LABEL}}  {text}" for name, text in (*lines.items(), *notes))


def scores_shown(name: str, scores: Mapping[str, float], note: str) -> str:
    """Writes the scores of a validation on one line, or as a table of soft and hard ones.

    Args:
        name: of the weights, such as `update 40`.
        note: the consequence, at the end of the line.
    """
    both = [key.removesuffix("_soft") for key in scores if key.endswith("_soft")]
    if not both:
        return f"{name}: {'  '.join(f'{key} {_shown(key, value)}' for key, value in scores.items())}{note}"
    # A column for each score, and a row for each mode.
    widths = [max(len(key), 7) + 2 for key in both]
    label = max(len(name) + 1, 8)
    table = {f"{name}:": both}
    table |= {f"  {mode}": [_shown(key, scores[f"{key}_{mode}"]) for key in both] for mode in ("soft", "hard")}
    head, *others = [
        f"{title:<{label}}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for title, cells in table.items()
    ]
    return "\n".join([head + note, *others])


def _shown(name: str, value: float) -> str:
    return f"{value:.3f}" if name == "loss" else f"{value:.2f}"


def _line(progress: Progress, means: Mapping[str, float], total: int | None) -> str:
    """Writes `update 300/960  epoch 1  loss 3.214  lr 0.0015  8,123 tokens/s  0:00:41 left`."""
    whole = left = ""
    if total is not None:
        # By the mean of all updates, since the last ones may have been short or long.
        seconds = progress.seconds / progress.update * max(0, total - progress.update)
        whole = f"/{total}"
        left = f"  {timedelta(seconds=round(seconds))} left"
    return (
        f"update {progress.update}{whole}  epoch {progress.epoch}  loss {means['loss']:.3f}  lr {means['lr']:.3g}  "
        f"{means['tokens_per_second']:,.0f} tokens/s{left}"
    )


# In the run's folder metrics.jsonl gets lines, and TensorBoard its events.

OF_VALIDATIONS = ("dev", "attention")
"""The kinds of lines of a validation."""


class Log:
    """Appends to the records of a run. A resumed run first deletes the records after its checkpoint."""

    def __init__(self, folder: Path, *, update: int, validated: bool = True) -> None:
        """
        Args:
            update: of the checkpoint that the run goes on from; 0 for a new run. Records of later updates are deleted,
                and TensorBoard hides their points.
            validated: whether the checkpoint holds a validation of this update. Where not, records of one are deleted.
        """
        events = subfolder(folder, "tensorboard")
        self._path = folder / "metrics.jsonl"
        # A kill may leave records of updates that are made again, and half of a line.
        lines = [line for line in _lines(self._path) if _stays(line, update, validated)] if self._path.exists() else []
        if self._path.exists():
            write_text(self._path, lines)
        self._file = open_to_append(self._path)
        # TensorBoard hides all points from a step on: those of the update itself are shown again.
        self.board = SummaryWriter(str(events), purge_step=update + validated)
        """TensorBoard's writer, for texts and figures."""
        for record in map(json.loads, [] if validated else lines):
            if record["update"] == update:
                self._points(record.pop("kind"), record.pop("update"), record)
        self._hook = threading.excepthook
        threading.excepthook = self._failed

    def scalars(self, kind: str, update: int, values: Mapping[str, float]) -> None:
        """Writes one JSON object {"kind", "update", ...}, and a point for each value in TensorBoard."""
        self._file.write(json.dumps({"kind": kind, "update": update, **values}) + "\n")
        self._points(kind, update, values)

    def _points(self, kind: str, update: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.board.add_scalar(f"{kind}/{name}", value, update)

    def layout(self, scores: Sequence[str]) -> None:
        """Lays out the page of custom charts: the losses of training and dev in one, then the named scores of dev."""
        charts = {"loss": ["Multiline", ["^train/loss$", "^dev/loss(_soft|_hard)?$"]]}
        charts |= {name: ["Multiline", [f"^dev/{name}(_soft|_hard)?$"]] for name in scores}
        self.board.add_custom_scalars({"learning": charts})

    def results(self, results: Mapping[str, Any]) -> None:
        """Shows the final scores, loss and perplexity in TensorBoard. results: of `report`."""
        for name, value in results.items():
            number = value.get("score") if isinstance(value, Mapping) else value
            if number is not None and (isinstance(value, Mapping) or name in ("loss", "perplexity")):
                self.board.add_scalar(f"test/{name}", number, results["updates"])

    def close(self) -> None:
        """Closes all files. Raises OSError where the disk is full."""
        self._file.close()
        try:
            self.board.close()
        finally:
            threading.excepthook = self._hook

    def _failed(self, failure: threading.ExceptHookArgs) -> None:
        """Prints no traceback where TensorBoard's thread finds the disk full, which its next call reports."""
        if not isinstance(failure.exc_value, OSError):
            self._hook(failure)


def _lines(path: Path) -> list[str]:
    """Reads the lines of a log. Raises UserError where it cannot be read, as in a folder from elsewhere."""
    try:
        with open_regular(path) as file:
            return [line.decode(errors="replace").removesuffix("\n") for line in byte_lines(file, str(path))]
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): copy the run again, or remove it") from None


def _stays(line: str, update: int, validated: bool) -> bool:
    """Returns whether a line was written before the checkpoint of an update. validated: see `Log`."""
    try:
        record = parse_json(line, infinite=True)
        number = int(record["update"])
        kind = record["kind"]
    except (ValueError, KeyError, TypeError, OverflowError):
        return False  # a line that a killed process left half-written
    return number < update or (number == update and (validated or kind not in OF_VALIDATIONS))
