"""What computes a model that is loaded: torch, or ONNX Runtime where no torch needs to be installed."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from mt.errors import UserError, invalid_choice
from mt.hub import download, is_repository
from mt.onnx.manifest import MANIFEST
from mt.search.config import PRECISIONS, Precision

if TYPE_CHECKING:
    from mt.decoding.translator import Translator

Engine = Literal["torch", "onnx"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
_USUAL = {"checkpoint": "best", "device": "auto", "engine": "torch"}
Runs = str | Path | Sequence[str | Path]


def load(
    run: Runs,
    *,
    checkpoint: str = "best",
    device: str = "auto",
    engine: Engine = "torch",
    precision: Precision | None = None,
) -> "Translator":
    """Returns the translator of a run folder, of one of its checkpoints' folders, or of an exported folder, which may
    be a repository of the Hugging Face hub (OWNER/NAME, see `folders`); of several, in torch, their ensemble, with the
    configuration of the first.

    checkpoint: best, last, average or ema where the run made one; a folder that was exported holds one. engine: onnx
    for a folder that was exported so. precision: of products, fp32, bf16, or int8, which is the fastest on CPUs and
    rounds the steps of search alone; by default the run's own. Raises UserError where the folder is damaged, is none,
    or is for the other engine.
    """
    _require_names({"checkpoint": checkpoint, "device": device, "engine": engine})
    if engine not in ENGINES:
        raise UserError(invalid_choice("engine", engine, ENGINES))
    if precision is not None and precision not in PRECISIONS:
        raise UserError(invalid_choice("precision", str(precision), PRECISIONS))
    runs = folders(run)
    # The one or the other is imported when it is asked for, since it takes seconds and need not be there.
    if engine == "onnx":
        from mt.decoding.onnx import load_graphs

        return load_graphs(runs, checkpoint, device, precision)
    for one in runs:
        if (one / MANIFEST).is_file():
            raise UserError(
                f"{one} was exported for engine=onnx, which translates and evaluates: choose that, or give a run"
            )
    from mt.decoding.runs import load_runs

    return load_runs(runs, checkpoint, device, precision)


def _require_names(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if not isinstance(value, str):
            raise UserError(f"{name} is of type {type(value).__name__}: give a str, as {name}={_USUAL[name]!r}")


def folders(run: Runs) -> list[Path]:
    """Returns the folders of a run or of several; of OWNER/NAME, where no folder OWNER is here, the downloaded files of
    this repository of the Hugging Face hub. Raises UserError for what names none."""
    runs: list[object] = [run] if isinstance(run, str | bytes | Path) or not isinstance(run, Iterable) else list(run)
    for one in runs:
        if not isinstance(one, str | Path) or not str(one):
            kind = "empty" if isinstance(one, str) else f"of type {type(one).__name__}"
            raise UserError(f"run is {kind}: give the folder that training printed, a str or a Path, or a list of them")
    return [download(str(one)) if is_repository(str(one)) else Path(str(one)) for one in runs]
