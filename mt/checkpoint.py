"""Checkpoints: JSON, safetensors and a tokenizer, complete or absent, and loaded without running anybody's code.

`checkpoints/` holds a folder for each saved update, written under a temporary name, flushed and renamed; `best` and
`last` are links to them, which move atomically. A folder is removed by a rename too, so that nobody meets half of one.
"""

import hashlib
import json
import os
import pickle  # noqa: TID251 - for the name of its error only
import shutil
import zipfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, load_model as load_tensors, save_model as save_tensors

from mt.config import Config
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.parsing import parse
from mt.storage import write_json

FORMAT = 1
MODEL = "model.safetensors"
TRAINING = "training.pt"


def save(
    folder: Path, model: Seq2Seq, tokenizers: Tokenizers, config: Config, meta: dict, training: dict | None
) -> None:
    """Writes a checkpoint folder, complete or not at all. Raises OSError where the disk does not take it.

    meta: what people may want to know (update, scores), as JSON. training: what `load_training` gives back.
    """
    draft = folder.with_name(".part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    write_json(draft / "config.json", config.model_dump(mode="json"))
    try:
        save_tensors(model, str(draft / MODEL))
        # safetensors lets nobody else read its files.
        shutil.copymode(draft / "config.json", draft / MODEL)
        if training is not None:
            torch.save(training, draft / TRAINING)
    except (SafetensorError, RuntimeError) as error:
        raise OSError(f"{folder} cannot be written ({str(error).splitlines()[0]})") from error
    tokenizers.save(draft)
    meta = {
        **meta,
        "format": FORMAT,
        "versions": {name: version(name) for name in ("mt", "torch", "sentencepiece")},
        "sha256": {path.name: _sha256(path) for path in sorted(draft.iterdir())},
    }
    write_json(draft / "meta.json", meta)
    for path in (*draft.iterdir(), draft):
        _flush(path)
    remove(folder)
    draft.rename(folder)
    _flush(folder.parent)


def remove(folder: Path) -> None:
    """Removes a checkpoint, where there is one, at once: a process killed meanwhile leaves no half of it."""
    if folder.is_dir():
        trash = folder.with_name(".trash")
        shutil.rmtree(trash, ignore_errors=True)
        folder.rename(trash)
        shutil.rmtree(trash)


def point(link: Path, folder: Path) -> None:
    """Makes `link` point to a checkpoint beside it, atomically."""
    draft = link.with_name(f".{link.name}.part")
    draft.unlink(missing_ok=True)
    draft.symlink_to(folder.name)
    if not link.is_symlink():
        # A copy of the run may hold a folder in place of the link.
        remove(link)
    draft.replace(link)
    _flush(link.parent)


def locate(run: Path, name: str) -> Path:
    """The folder of the named checkpoint of a run; `run` may also be a checkpoint's own folder."""
    if (run / "meta.json").is_file() and (run / MODEL).is_file():
        return run
    folder = run / "checkpoints" / name
    if not (folder / "meta.json").is_file():
        present = sorted(p.parent.name for p in run.glob("checkpoints/*/meta.json"))
        raise UserError(
            f"{run} has no checkpoint {name}; it has: {', '.join(present)}"
            if present
            else f"{run} is not a run folder: it holds no checkpoints/{name}; give the folder that training printed"
        )
    return folder


def load_meta(folder: Path) -> dict[str, Any]:
    """The `meta` of `save`, with `format`, `versions` and `sha256`."""
    return _read_json(folder / "meta.json")


def load_config(run: Path, name: str = "last") -> Config:
    """The configuration that a checkpoint was trained with."""
    path = locate(run, name) / "config.json"
    return parse(_read_json(path), Config, str(path))


def load_model(run: Path, name: str) -> tuple[Seq2Seq, Tokenizers, Config]:
    """The model on the CPU, its tokenizers, and the configuration it was trained with.

    Raises UserError where a file is missing, damaged, of another format, or does not fit the others.
    """
    folder = locate(run, name)
    _verify(folder)
    config = load_config(folder)
    tokenizers = Tokenizers.load(folder)
    sizes = (len(tokenizers.source), len(tokenizers.target))
    path = folder / MODEL
    # Compared before anything is allocated: a configuration may ask for more memory than there is.
    try:
        with torch.device("meta"):
            expected = {name: list(tensor.shape) for name, tensor in Seq2Seq(config, *sizes).state_dict().items()}
    except (RuntimeError, OverflowError, TypeError):
        raise UserError(f"{folder}/config.json asks for larger tensors than any: copy the checkpoint again") from None
    for tensor, shape in _shapes(path).items():
        if shape != expected.get(tensor):
            wanted = expected.get(tensor, "no such tensor")
            raise UserError(
                f"{path} does not fit config.json and the tokenizer beside it: {tensor} has shape {shape}, expected "
                f"{wanted}; restore the checkpoint's own files"
            )
    model = Seq2Seq(config, *sizes)
    try:
        load_tensors(model, path)
    except RuntimeError as error:
        raise UserError(f"{path} does not fit config.json: {' '.join(str(error).split())}") from None
    return model, tokenizers, config


def load_training(folder: Path) -> dict[str, Any]:
    """The `training` of `save`. Raises UserError where the file holds anything but tensors and plain data."""
    path = folder / TRAINING
    if not path.is_file():
        raise UserError(f"{path} is missing, so training cannot go on from this checkpoint")
    try:
        # What is no archive of tensors would be read as a bare pickle, by a reader made for old files.
        with zipfile.ZipFile(path):
            return torch.load(path, weights_only=True)  # noqa: TID251 - the one place
    except (zipfile.BadZipFile, pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise UserError(
            f"{path} is not a training state of plain tensors ({type(error).__name__}): it is damaged or "
            "hostile; resume from another checkpoint"
        ) from None


def average(folders: Sequence[Path]) -> dict[str, torch.Tensor]:
    """The mean of the checkpoints' weights, tensor by tensor (Vaswani et al. 2017, section 6.1)."""
    states = [load_file(folder / MODEL) for folder in folders]
    return {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}


def fill(model: Seq2Seq, tensors: dict[str, torch.Tensor]) -> None:
    """Puts saved tensors into a model; tensors that it shares were saved once."""
    model.load_state_dict(tensors, strict=False)


def _verify(folder: Path) -> None:
    meta = load_meta(folder)
    if meta.get("format") != FORMAT:
        raise UserError(
            f"{folder} is a checkpoint of format {meta.get('format')}, and this version reads {FORMAT}: load it with "
            "the version that wrote it"
        )
    sums = meta.get("sha256")
    if not isinstance(sums, dict):
        raise UserError(f"{folder}/meta.json lists no SHA-256 of the other files: copy the checkpoint again")
    for name, expected in sums.items():
        path = folder / Path(name).name
        if not path.is_file():
            raise UserError(f"{path} is missing: restore it from where the checkpoint was copied")
        if _sha256(path) != expected:
            raise UserError(f"{path} is not the file that was saved (its SHA-256 differs): copy the checkpoint again")


def _shapes(path: Path) -> dict[str, list[int]]:
    try:
        with safe_open(path, framework="pt") as tensors:
            return {name: tensors.get_slice(name).get_shape() for name in tensors.keys()}  # noqa: SIM118 - no mapping
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path} is not a safetensors file ({error}): copy the checkpoint again") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error}): copy the checkpoint again") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} is no JSON object: copy the checkpoint again")
    return found


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(path: Path) -> None:
    """What was written is on the disk when this returns."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
