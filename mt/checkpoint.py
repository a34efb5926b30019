"""Checkpoints: JSON, safetensors and a tokenizer, complete or absent, and loaded without running anybody's code.

`checkpoints/` of a run holds a folder for each saved update; `best` and `last` are links to them, which move
atomically. First a checkpoint is saved, then found, then loaded; the checks of its files come last.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field
from safetensors.torch import save_file
from torch import Tensor

from mt.common.about import VERSION
from mt.common.earlier import LAST, as_now, gone
from mt.common.input_files import read_json, sha256
from mt.common.options import Count, Options, parse
from mt.config import Config
from mt.data.tokenizer import Tokenizers
from mt.device import shapes_alone
from mt.errors import UserError
from mt.models import weights
from mt.models.seq2seq import Seq2Seq
from mt.storage import replaced_folder, write_json

FORMAT = 2
"""The format of checkpoints and run folders, raised whenever files, their names or their content change."""
CONFIG = "config.json"
META = "meta.json"
MODEL = "model.safetensors"
PROGRESS = "progress.json"
TRAINING = "training.safetensors"
_REMEDY = "copy the checkpoint again"


class About(Options):
    """Where a checkpoint is from."""

    update: Count
    averaged: list[Count] | None
    """The updates whose weights were averaged, if the weights are a mean."""
    ema_decay: Annotated[float, Field(gt=0, lt=1)] | None = None
    """The decay of the exponential moving average, where the weights are one."""
    metric: str
    """The metric that chooses the best checkpoint."""
    best: dict[str, float] | None
    """All scores of the best validation so far."""
    corpus: str
    """The fingerprint of the prepared corpus."""
    initialisation: str | None = None
    """The digest of the initial weights of its run, or of the run that `init_from` names; None in checkpoints of
    versions that did not keep it."""

    @property
    def trained(self) -> str:
        """Names the updates that are in the weights."""
        if self.averaged is not None:
            return f"the average of updates {', '.join(map(str, self.averaged))}"
        if self.ema_decay is not None:
            return f"the moving average of {self.update} updates"
        return f"update {self.update}"


class Meta(About):
    """`meta.json`, for people and for resuming."""

    format: int
    versions: dict[str, str]
    sha256: dict[str, str]
    """The SHA-256 of each of the other files."""


def save(
    folder: Path,
    model: Seq2Seq,
    tokenizers: Tokenizers,
    config: Config,
    about: About,
    progress: Mapping[str, Any],
    training: Mapping[str, Tensor] | None,
) -> None:
    """Writes a checkpoint folder, complete or not at all. Raises OSError where the disk does not take it.

    progress: the result of `load_progress`, as JSON.
    training: the result of `load_training`; None for weights from which training cannot go on.
    """
    # The sums come last, since they cover all other files.
    with replaced_folder(folder) as draft:
        write_json(draft / CONFIG, config.model_dump(mode="json"))
        write_json(draft / PROGRESS, progress)
        with weights.writing(folder):
            _save_model(model, draft / MODEL)
            if training is not None:
                save_file(dict(training), draft / TRAINING)
        for path in draft.glob("*.safetensors"):
            shutil.copymode(draft / CONFIG, path)  # safetensors lets nobody else read its files
        tokenizers.save(draft)
        seal(draft, about)


def _save_model(model: Seq2Seq, path: Path) -> None:
    """Writes the tensors of a model, one that it shares under the first of its names.

    The other names are noted in the file, in one entry: safetensors writes several in any order, as its `save_model`
    does, so that files of equal models would have unequal sums.
    """
    # Tensors are equal keys where they are one object.
    names: dict[Tensor, list[str]] = {}
    for name, tensor in sorted(model.state_dict(keep_vars=True).items()):
        names.setdefault(tensor, []).append(name)
    others = {", ".join(further): first for first, *further in names.values() if further}
    # safetensors refuses tensors whose numbers do not lie in their order.
    tensors = {first: tensor.detach().contiguous() for tensor, (first, *_) in names.items()}
    save_file(tensors, path, others or None)


def seal(folder: Path, about: About) -> None:
    """Writes `meta.json` of a folder that holds all that belongs to its checkpoint."""
    sums = {path.name: sha256(path) for path in sorted(folder.iterdir())}
    versions = {"mt": VERSION} | {name: version(name) for name in ("torch", "sentencepiece")}
    meta = Meta(format=FORMAT, versions=versions, sha256=sums, **about.model_dump())
    write_json(folder / META, meta.model_dump())


def locate(run: Path, name: str) -> Path:
    """Returns the folder of the named checkpoint of a run, links resolved. `run` may be a checkpoint, too."""
    # The folder of a checkpoint itself, or of a run, in which `last` may lead nowhere after a kill.
    folder = run
    no_run = f"{run} is not a run folder: it holds no checkpoints/{name}; give the folder that training printed"
    if not os.path.lexists(run):  # nor can there be one where the name is too long
        raise UserError(no_run)
    if not all((run / file).is_file() for file in (META, MODEL)):
        folder = run / "checkpoints" / name
        if name == "last" and not (folder / META).is_file():
            folder = newest(run) or folder
    if not (folder / META).is_file():
        # The sentence depends on what is missing: a file, a checkpoint, or the run.
        if os.path.lexists(folder):
            what = f"holds no file {META}" if folder.is_dir() else "leads to no folder"
            raise UserError(f"{folder} {what}: {_REMEDY}, or copy the whole run folder again")
        present = sorted(path.parent.name for path in run.glob(f"checkpoints/*/{META}") if path.is_file())
        raise UserError(f"{run} has no checkpoint {name}; it has: {', '.join(present)}" if present else no_run)
    # Resolved once: a link may move while file after file is read.
    return folder.resolve()


def newest(run: Path) -> Path | None:
    """Returns the checkpoint of a run with the most updates; None where there is none. `last` still leads to the one
    before where a kill came between the two steps of saving."""
    patterns = ("update-*", ".update-*.old")  # the latter was being replaced
    folders = [path.parent for pattern in patterns for path in run.glob(f"checkpoints/{pattern}/{META}")]
    # By the number of updates alone, since names of the two patterns do not compare.
    return max(folders, key=lambda folder: int(re.sub(r"\D", "", folder.name) or 0), default=None)


def load_meta(folder: Path) -> Meta:
    """Reads `meta.json` of a checkpoint. Raises UserError where it is damaged, or of another format."""
    path = folder / META
    meta = read_json(path, _REMEDY)
    if meta.get("format") != FORMAT:
        raise UserError(
            f"{folder} is a checkpoint of format {meta.get('format')}, and this version reads {FORMAT}: load it with "
            "the version that wrote it, or train again"
        )
    return parse(meta, Meta, str(path))


def load_config(run: Path, name: str = "last") -> Config:
    """Reads the configuration that a checkpoint was trained with."""
    folder = locate(run, name)
    load_meta(folder)
    return parse(as_now(read_json(folder / CONFIG, _REMEDY)), Config, str(folder / CONFIG))


def load_model(run: Path, name: str) -> tuple[Seq2Seq, Tokenizers, Config]:
    """Loads the model to the CPU, its tokenizers, and the configuration that it was trained with.

    Raises UserError where a file is missing, damaged, of another format, or does not fit the others.
    """
    # Files are checked before they are parsed, and shapes before memory is taken for them.
    folder = locate(run, name)
    _verify(folder)
    config = load_config(folder)
    tokenizers = Tokenizers.load(folder)
    if config.decoder.copy and tokenizers.target.of_words and load_meta(folder).versions.get("mt") == LAST:
        raise UserError(gone("decoder.copy=true with numbered unknown words", "to copy what the vocabulary has"))
    sizes = tokenizers.sizes
    _compare(folder / MODEL, config, sizes)
    model = Seq2Seq(config, *sizes).float()  # whatever type the caller has made the default of torch
    # Not strict, since shared tensors are saved once; `_compare` has found that nothing else is missing.
    model.load_state_dict(weights.read(folder / MODEL, _REMEDY), strict=False)
    return model, tokenizers, config


def load_progress(folder: Path) -> dict[str, Any]:
    """Reads the `progress` of `save`."""
    return read_json(folder / PROGRESS, _REMEDY)


def load_training(folder: Path) -> dict[str, Tensor]:
    """Loads the `training` of `save` to the CPU, wherever it was trained."""
    path = folder / TRAINING
    if not path.is_file():
        raise UserError(f"{path} is missing, so training cannot go on from this checkpoint: {_REMEDY}")
    return weights.load(path, _REMEDY)


def average(folders: Sequence[Path]) -> dict[str, torch.Tensor]:
    """Returns the mean of the checkpoints' weights, tensor by tensor (Vaswani et al. 2017, section 6.1). Like the
    files, it has a tensor that the model shares only once.

    Raises UserError where a file is missing, damaged, or has other tensors than the first.
    """
    # All files are checked before one is loaded.
    expected = weights.shapes(folders[0] / MODEL, _REMEDY)
    for folder in folders:
        _verify(folder)
        if weights.shapes(folder / MODEL, _REMEDY) != expected:
            raise UserError(f"{folder / MODEL} has other tensors than {folders[0]}: average checkpoints of one run")
    states = [weights.load(folder / MODEL, _REMEDY) for folder in folders]
    for folder, state in zip(folders, states, strict=True):
        if not all(tensor.is_floating_point() for tensor in state.values()):
            raise UserError(
                f"{folder / MODEL} holds weights that were rounded to int8, and their mean would be rounded twice: "
                "average the checkpoints that were exported, then export the mean"
            )
    return {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}


def digest(model: Seq2Seq) -> str:
    """Returns the SHA-256 (hex) of a model's weights."""
    total = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        total.update(name.encode())
        # As bytes, since numpy knows no bfloat16.
        total.update(tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def _verify(folder: Path) -> None:
    """Raises UserError where a file of a checkpoint is missing, or has changed since it was saved."""
    # A list of sums that leaves these two out would prove nothing.
    sums = load_meta(folder).sha256
    for name in (CONFIG, MODEL):
        if name not in sums:
            raise UserError(f"{folder}/{META} lists no SHA-256 of {name}: {_REMEDY}")
    present = {path.name for path in folder.iterdir() if path.is_file()}
    for name, expected in sums.items():
        if name not in present:
            raise UserError(f"{folder}/{name} is missing: restore it from where the checkpoint was copied")
        if sha256(folder / name) != expected:
            raise UserError(f"{folder}/{name} is not the file that was saved (its SHA-256 differs): {_REMEDY}")


def _compare(path: Path, config: Config, sizes: tuple[int, int, int | None]) -> None:
    """Raises UserError where the tensors of a file are not the model's. It allocates nothing, since a configuration may
    ask for more memory than there is."""
    try:
        with shapes_alone():
            # keep_vars gives the parameters themselves, of which shared ones are the same object.
            state = Seq2Seq(config, *sizes).state_dict(keep_vars=True)
    # Even without storage, torch counts the elements of a shape in 64 bits.
    except (RuntimeError, OverflowError, TypeError):
        raise UserError(f"{path.with_name(CONFIG)} asks for larger tensors than any: {_REMEDY}") from None
    expected = weights.with_scales({name: list(tensor.shape) for name, tensor in state.items()})
    shapes = weights.shapes(path, _REMEDY)
    for name, shape in shapes.items():
        if shape != expected.get(name):
            raise UserError(
                f"{path} does not fit config.json and the tokenizer beside it: {name} has shape {shape}, expected "
                f"{expected.get(name, 'no such tensor')}; restore the checkpoint's own files"
            )
    # Tensors that the model shares are saved once.
    distinct = {id(tensor): tensor for tensor in state.values()}.values()
    if missing := sum(tensor.numel() for tensor in distinct) - weights.count(shapes):
        raise UserError(f"{path} does not fit config.json: it lacks {missing} of the model's numbers; {_REMEDY}")
