"""Loading: a run folder, several runs as an ensemble, an exported folder, or a name on the Hugging Face hub.

torch is imported only where a model needs it."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, get_args

from mt.common.about import required
from mt.common.memory import keep_freed
from mt.common.options import as_written
from mt.decoding.onnx import MANIFEST, load_graphs
from mt.decoding.translator import Translator
from mt.errors import UserError, message_of, require_choice, shown
from mt.search.config import PRECISIONS, Precision

# Repositories of the Hugging Face hub, whose one door this is; each holds an exported folder.

FILES = ("*.json", "*.safetensors", "*.onnx", "tokenizer*")
"""The files of a repository that decoding may need."""
_PREFIX = "hf:"
"""What a name on the hub begins with; a `Path` makes `hf:/` of `hf://`."""


def require_name(repository: str) -> None:
    """Raises UserError where this is no name of a repository."""
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    try:
        validate_repo_id(repository)
        if "/" not in repository:
            raise HFValidationError("it has no owner")
    except HFValidationError as error:
        reason = shown(str(error), 200).rstrip(".")
        raise UserError(f"{shown(repository)} is no name of a repository ({reason}): give OWNER/NAME") from None


def repository_of(run: str) -> str | None:
    """Returns OWNER/NAME for `hf://OWNER/NAME`, and for OWNER/NAME if there is no folder OWNER here; None for a path.
    Raises UserError for another name with the prefix."""
    if run.startswith(_PREFIX):
        name = run.removeprefix(_PREFIX).lstrip("/")
        require_name(name)
        return name
    # What exists on this machine is a path, whatever the hub has.
    if run.count("/") != 1 or os.path.lexists(run.partition("/")[0]):
        return None
    try:
        require_name(run)
    except UserError:
        return None
    return run


def download(repository: str, *, ask_hub: bool) -> Path:
    """Returns the folder with a repository's files, in the cache of `huggingface_hub`.

    ask_hub: whether to download what is not there yet, where there is a network. Otherwise no request is made, so that
    a mistyped path stays on this machine. Raises UserError where the files are not there, and cannot be had.
    """
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(repository, allow_patterns=list(FILES), local_files_only=not ask_hub))
    except Exception as error:
        # The class depends on the library for requests, which changes from release to release.
        reason = shown(message_of(error), 300).rstrip(".")
    if ask_hub:
        raise UserError(
            f"the repository {repository} cannot be had from the Hugging Face hub ({reason}): look after the name, the "
            "network and your token (hf auth login)"
        )
    raise UserError(
        f"there is no folder {repository} here, and no repository of this name was downloaded before. Give the folder "
        f"that training printed, or hf://{repository} for one on the Hugging Face hub"
    )


# What computes a model.

Engine = Literal["torch", "onnx"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
Runs = str | Path | Sequence[str | Path]


def load(
    run: Runs,
    *,
    checkpoint: str = "best",
    device: str = "auto",
    engine: Engine = "torch",
    precision: Precision | None = None,
) -> Translator:
    """Returns the translator of a run folder, of one of its checkpoints' folders, or of an exported folder. That may be
    a repository of the Hugging Face hub (hf://OWNER/NAME). Several runs give the translator of their
    ensemble, in torch, with the configuration of the first.

    checkpoint: best, last, average or ema where the run made one; a folder that was exported holds one. engine: onnx
    for a folder that was exported so. precision: of products, fp32, bf16, or int8, which is the fastest on CPUs and
    rounds the steps of search alone; by default the run's own. Raises UserError where the folder is damaged, is no
    run, or is for the other engine.
    """
    for name, value, usual in (
        ("checkpoint", checkpoint, "best"),
        ("device", device, "auto"),
        ("engine", engine, "torch"),
    ):
        if not isinstance(value, str):
            raise UserError(f"{name} is of type {type(value).__name__}: give a str, as {name}={usual!r}")
    require_choice("engine", engine, ENGINES)
    require_choice("precision", precision, PRECISIONS)
    runs = resolve_runs(run)
    if engine == "onnx":
        return load_graphs(runs, checkpoint, device, precision)
    # A folder of graphs has a manifest, and no model for torch.
    for folder in runs:
        if os.path.isfile(folder / MANIFEST):
            raise UserError(
                f"{folder} was exported for {as_written('engine', 'onnx')}, which translates, streams and evaluates: "
                "choose that for these, and give a run for anything else"
            )
    names = " and ".join(map(str, runs))
    with required(f"{names} needs torch", "train", f", or give an export with {as_written('engine', 'onnx')}"):
        from mt.decoding.torch_network import load_runs  # Not above: torch takes seconds.

    keep_freed()
    return load_runs(runs, checkpoint, device, precision)


def resolve_runs(run: Runs) -> list[Path]:
    """Returns the folders of one or several runs.

    hf://OWNER/NAME is a repository of the Hugging Face hub, which is downloaded once. OWNER/NAME is a repository that
    was downloaded before, if there is no folder OWNER here. Raises UserError for other names.
    """
    runs: list[object] = [run] if isinstance(run, str | bytes | Path) or not isinstance(run, Iterable) else list(run)
    for folder in runs:
        if not isinstance(folder, str | Path) or not str(folder):
            kind = "empty" if isinstance(folder, str) else f"of type {type(folder).__name__}"
            raise UserError(f"run is {kind}: give the folder that training printed, a str or a Path, or a list of them")
    # All names are looked at before the first repository is downloaded.
    repositories = [repository_of(str(folder)) for folder in runs]
    return [
        Path(str(run)) if repository is None else download(repository, ask_hub=str(run).startswith(_PREFIX))
        for run, repository in zip(runs, repositories, strict=True)
    ]
