"""The records of a run: lines of metrics.jsonl, and TensorBoard. The one door to tensorboard."""

import json
import os
import re
import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorboard.plugins.hparams import plugin_data_pb2
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from mt.common.input_files import open_regular
from mt.errors import UserError
from mt.storage import is_at, open_to_append, subfolder, write_text
from mt.text_io import byte_lines

if TYPE_CHECKING:  # matplotlib takes long to load, and a training draws late
    from mt.plots import Figure

HYPERPARAMETERS = (
    "dataset.name",
    "attention.name",
    "attention.energy.name",
    "encoder.name",
    "encoder.hidden_size",
    "decoder.name",
    "decoder.hidden_size",
    "embedding.embedding_dim",
    "embedding.dropout",
    "optimizer.name",
    "optimizer.lr",
    "optimizer.warmup",
    "training.epochs",
    "training.batch_tokens",
    "training.label_smoothing",
    "search.name",
    "seed",
)
"""The options in which runs mostly differ: the columns of TensorBoard's table. All options are in config.yaml."""
OF_VALIDATIONS = ("dev", "attention")
"""Kinds of lines that a validation writes, and training does not."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class Log:
    """Appends to the records of a run. A run that is resumed first deletes what came after its checkpoint."""

    def __init__(
        self,
        folder: Path,
        *,
        update: int,
        validated: bool = True,
        sizes: Mapping[str, int] | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        """
        Args:
            update: that of the checkpoint that the run goes on from; 0 for a new run. Records of later updates are
                deleted.
            validated: whether the checkpoint holds a validation of this update. Where not, records of one are deleted.
            sizes: what `sizes` returned when the checkpoint was saved; empty for a new run, None where the checkpoint
                does not say.
            say: shows a notice.
        """
        self._name = _name(folder)
        self._path = folder / "metrics.jsonl"
        self._events = subfolder(folder, "tensorboard")
        if self._path.exists():
            lines = _lines(self._path)
            write_text(self._path, [line for line in lines if _stays(line, update, validated)])
        if sizes is not None:
            _cut(self._events, sizes)
        self._file = open_to_append(self._path)
        self._say = say
        self._board = SummaryWriter(str(self._events), purge_step=update + 1)
        self._hook = threading.excepthook
        threading.excepthook = self._failed

    def scalars(self, kind: str, update: int, values: Mapping[str, float]) -> None:
        """Writes one JSON object {"kind", "update", ...}, and a point for each value in TensorBoard."""
        if not is_at(self._path, self._file):
            self._file.close()
            self._file = open_to_append(self._path)
            self._say(f"  warning: {self._path} was deleted or replaced: lines before update {update:,} are not in it")
        self._file.write(json.dumps({"kind": kind, "update": update, **values}) + "\n")
        for name, value in values.items():
            self._board.add_scalar(f"{kind}/{name}", value, update)

    def figure(self, name: str, update: int, figure: "Figure") -> None:
        """Shows a figure in TensorBoard."""
        self._board.add_figure(name, figure, update, close=False)

    def text(self, name: str, update: int, text: str) -> None:
        """Shows a text, in Markdown, in TensorBoard."""
        self._board.add_text(name, text, update)

    def layout(self, scores: Sequence[str]) -> None:
        """Lays out the page of custom charts: the losses of training and dev in one, then the named scores of dev."""
        charts = {"loss": ["Multiline", ["^train/loss$", "^dev/loss(_soft|_hard)?$"]]}
        charts |= {name: ["Multiline", [f"^dev/{name}(_soft|_hard)?$"]] for name in scores}
        self._board.add_custom_scalars({"learning": charts})

    def hyperparameters(self, options: Mapping[str, Any], results: Mapping[str, Any], metric: str) -> None:
        """Writes the run's row of TensorBoard's table: `HYPERPARAMETERS` among the options, and the final scores.

        Args:
            options: the configuration.
            results: what `report` returned.
            metric: the score that comes first.
        """
        scores: dict[str, float] = {}
        for name, value in results.items():
            if isinstance(value, Mapping) and "score" in value:
                scores[name] = value["score"]
            elif name in ("loss", "perplexity"):
                scores[name] = value
        ordered = sorted(scores, key=lambda name: name != metric)
        for name in ordered:
            self._board.add_scalar(f"test/{name}", scores[name], results["updates"])
        chosen = {name: value for name in HYPERPARAMETERS if (value := _at(options, name)) is not None}
        experiment, start, end = hparams(chosen, {f"test/{name}": scores[name] for name in ordered})
        # Otherwise rows are named by their folders, which TensorBoard cuts to the beginnings that they share.
        content = start.value[0].metadata.plugin_data
        data = plugin_data_pb2.HParamsPluginData.FromString(content.content)
        data.session_start_info.group_name = self._name
        content.content = data.SerializeToString()
        for summary in (experiment, start, end):
            self._board._get_file_writer().add_summary(summary)

    def sizes(self) -> dict[str, int]:
        """Flushes TensorBoard's files, and returns the bytes of each by its name."""
        self._board.flush()
        return {path.name: path.stat().st_size for path in _event_files(self._events)}

    def close(self) -> None:
        """Closes all files. Raises OSError where the disk does not take what is left."""
        self._file.close()
        try:
            self._board.close()
        finally:
            threading.excepthook = self._hook

    def _failed(self, failure: threading.ExceptHookArgs) -> None:
        """Prints no traceback where TensorBoard's thread finds the disk full, which its next call reports."""
        if not isinstance(failure.exc_value, OSError):
            self._hook(failure)


def _name(folder: Path) -> str:
    """Returns a name of a run, which begins with what tells it apart, since some 14 characters are shown: the time of a
    day, or what differs in a sweep."""
    date, _, time = folder.name.partition("_")
    return f"{time} {date} {folder.parent.name}" if _DATE.fullmatch(date) else f"{folder.name} {folder.parent.name}"


def _lines(path: Path) -> list[str]:
    """Reads the lines of a log. Raises UserError where it cannot be read, as in a folder from elsewhere."""
    try:
        with open_regular(path) as file:
            return [line.decode(errors="replace").removesuffix("\n") for line in byte_lines(file, str(path))]
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): copy the run again, or remove it") from None


def _at(options: Mapping[str, Any], path: str) -> int | float | str | None:
    """Returns the option at a dotted path; None where there is none."""
    option: Any = options
    for name in path.split("."):
        option = option.get(name) if isinstance(option, Mapping) else None
    return option


def _stays(line: str, update: int, validated: bool) -> bool:
    """Returns whether a line is of the time before the checkpoint of an update. validated: see `Log`."""
    try:
        record = json.loads(line)
        number = int(record["update"])
        kind = record["kind"]
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return False  # a line that a killed process left half-written
    return number < update or (number == update and (validated or kind not in OF_VALIDATIONS))


def _event_files(folder: Path) -> list[Path]:
    return [path for path in folder.glob("events.out.tfevents.*") if stat.S_ISREG(path.lstat().st_mode)]


def _cut(folder: Path, sizes: Mapping[str, int]) -> None:
    """Takes from TensorBoard's files what was written after they had these sizes."""
    for path in _event_files(folder):
        if path.name not in sizes:
            path.unlink()
        elif path.stat().st_size > sizes[path.name]:
            os.truncate(path, sizes[path.name])
