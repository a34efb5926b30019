"""What a run tells: lines of metrics.jsonl, TensorBoard, and the console. The one door to tensorboard."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from mt.plots import Figure
from mt.storage import appended, subfolder, write_text


class Log:
    """Append-only; a resumed run first forgets what came after its checkpoint."""

    def __init__(self, folder: Path, *, update: int) -> None:
        """update: the last update whose records stay, 0 for a new run."""
        path, board = folder / "metrics.jsonl", subfolder(folder, "tensorboard")
        if path.exists():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            write_text(path, [line for line in lines if _update(line) <= update])
        self._file = appended(path)
        self._board = SummaryWriter(str(board), purge_step=update + 1)

    def scalars(self, kind: str, update: int, values: Mapping[str, float]) -> None:
        """One JSON object {"kind", "update", ...}, and a point for each value in TensorBoard."""
        self._file.write(json.dumps({"kind": kind, "update": update, **values}) + "\n")
        for name, value in values.items():
            self._board.add_scalar(f"{kind}/{name}", value, update)

    def figure(self, name: str, update: int, figure: Figure) -> None:
        self._board.add_figure(name, figure, update, close=False)

    def text(self, name: str, update: int, text: str) -> None:
        """text: Markdown."""
        self._board.add_text(name, text, update)

    def hyperparameters(self, options: Mapping[str, Any], results: Mapping[str, Any]) -> None:
        """options: the configuration; results: the final scores. Both may be nested."""
        scores = {f"test/{name}": float(value) for name, value in _flat(results) if isinstance(value, float)}
        kinds = int | float | bool | str
        chosen = {name: value if isinstance(value, kinds) else str(value) for name, value in _flat(options)}
        self._board.add_hparams(chosen, scores, run_name=".")

    def say(self, text: str) -> None:
        """To the console, without tearing a progress bar."""
        tqdm.write(text)

    def close(self) -> None:
        self._file.close()
        self._board.close()


def _update(line: str) -> int:
    try:
        return int(json.loads(line)["update"])
    except (ValueError, KeyError, TypeError):
        # A line that a killed process left half-written.
        return 1 << 62


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
