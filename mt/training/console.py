"""What a run shows of itself: a bar on a terminal; a line every so often in a log file or a pipe."""

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from mt.common.progress import SECONDS, Bar, say_beside
from mt.config import Config
from mt.data.corpus import SPLITS, Corpus
from mt.device import has_bfloat16
from mt.distributed import ALONE, ProcessGroup
from mt.evaluation.scoring import notes_of
from mt.models.seq2seq import Seq2Seq
from mt.search.config import is_online
from mt.training.progress import Progress

_LABEL = 8
"""Columns of the names at the start."""


class Console:
    """Text goes to standard output, and bars to standard error, where that is a terminal."""

    def __init__(self, seconds: float = SECONDS, *, quiet: bool = False) -> None:
        """
        Args:
            seconds: the time between two lines.
            quiet: whether nobody sees this process' standard output, since another process shows the same.
        """
        self.bars = sys.stderr.isatty() and not quiet
        """Whether to show bars."""
        self._lines = not (self.bars and sys.stdout.isatty())
        self._seconds = seconds
        self._last_line = time.monotonic()
        self._bar: Bar | None = None
        self._total: int | None = None

    def say(self, text: str) -> None:
        """Prints a text at once, without tearing a bar."""
        say_beside(text)

    @contextlib.contextmanager
    def training(self, progress: Progress, total: int | None) -> Iterator[None]:
        """Shows the progress of training meanwhile. total: the updates of the whole run, None where unknown."""
        self._total = total
        # Lines say more than how many updates: see `logged`.
        with Bar("training", total, "updates", done=progress.update, shown=self.bars, seconds=None) as self._bar:
            yield

    def updated(self) -> None:
        """Advances the bar by an update."""
        if self._bar is not None:
            self._bar.update()

    def logged(self, progress: Progress, means: Mapping[str, float]) -> None:
        """Shows the means of a line of the log (`LogWindow.means`), at most every so many seconds."""
        if self._bar is not None:
            self._bar.note({"epoch": progress.epoch, "loss": f"{means['loss']:.3f}"})
        if self._lines and time.monotonic() - self._last_line >= self._seconds:
            self._last_line = time.monotonic()
            self.say(_line(progress, means, self._total))


def heading(
    config: Config,
    corpus: Corpus,
    model: Seq2Seq,
    folder: Path,
    progress: Progress,
    total: int | None,
    processes: ProcessGroup = ALONE,
) -> str:
    """Returns what a run says at its start: where it is, on which data, and how large the model is."""
    parameters = sum(p.numel() for p in model.parameters())
    device = next(model.parameters()).device
    sizes = {name: len(corpus.split(name)) for name in SPLITS}
    tokens = f"{corpus.split('train').lengths()[1].sum():,} target tokens"
    train = "streamed" if corpus.training is not corpus.split("train") else f"{sizes['train']:,} pairs, {tokens}"
    source, target = (f"{len(side):,}" for side in corpus.tokenizers)
    written = corpus.split("train").source.written
    transcript = corpus.tokenizers.transcript
    pieces = f"{source} source, {target} target" if written else f"{target} target"
    parts = [config.encoder.name, config.attention.name, config.decoder.name]
    model_parts = ", ".join(parts if written else [config.frontend.name, *parts])
    epochs = f"{config.training.epochs} epoch{'s' * (config.training.epochs > 1)}"
    amount = epochs if total is None else f"{total:,} updates, at most {epochs}"
    begun = f", from update {progress.update:,}" if progress.update else ""
    accumulation = config.training.gradient_accumulation
    size = config.training.batch_tokens
    update = f"{accumulation} batches of {size:,} tokens, in all {accumulation * size:,}"
    rows = {
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
        rows["update"] = f"{update}, of {processes.size} processes" if processes.size > 1 else update
    references = corpus.split("dev").column("references")
    notes = [("note", note) for note in notes_of(config.dataset, references, online=is_online(config.search))]
    if config.precision == "bf16" and not has_bfloat16(device):
        notes.append(("note", "this processor has no fast instructions for bfloat16: bf16 is computed as fp32"))
    return "\n".join(f"{name:<{_LABEL}}  {text}" for name, text in (*rows.items(), *notes))


def scores_shown(name: str, scores: Mapping[str, float], note: str) -> str:
    """Writes the scores of a validation on one line, or as a table of soft and hard ones.

    Args:
        name: what was scored, such as `update 40`.
        note: what became of it.
    """
    both = [key.removesuffix("_soft") for key in scores if key.endswith("_soft")]
    if not both:
        return f"{name}: {'  '.join(f'{key} {_shown(key, value)}' for key, value in scores.items())}{note}"
    widths = [max(len(key), 7) + 2 for key in both]
    label = max(len(name) + 1, 8)
    rows = [(f"{name}:", both)]
    rows += [(f"  {mode}", [_shown(key, scores[f"{key}_{mode}"]) for key in both]) for mode in ("soft", "hard")]
    head, *others = [f"{first:<{label}}{_columns(cells, widths)}" for first, cells in rows]
    return "\n".join([head + note, *others])


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _shown(name: str, value: float) -> str:
    return f"{value:.3f}" if name == "loss" else f"{value:.2f}"


def _line(progress: Progress, means: Mapping[str, float], total: int | None) -> str:
    """Writes `update 300/960  epoch 1  loss 3.214  lr 0.0015  8,123 tokens/s  0:00:41 left`."""
    whole = left = ""
    if total is not None:
        seconds = progress.seconds / progress.update * (total - progress.update)
        whole = f"/{total}"
        left = f"  {timedelta(seconds=round(seconds))} left"
    return (
        f"update {progress.update}{whole}  epoch {progress.epoch}  loss {means['loss']:.3f}  lr {means['lr']:.3g}  "
        f"{means['tokens_per_second']:,.0f} tokens/s{left}"
    )
