"""Exports a run to a folder that holds what decoding needs and nothing else; the folder is complete or absent.

`export` writes weights or graphs, tokenizers, configuration and terms into a draft, which then takes its name.
"""

from importlib.metadata import distributions
from pathlib import Path
from typing import Literal, get_args

from safetensors.torch import load_file, save_file

from mt.checkpoint import CONFIG, MODEL, About, load_meta, load_model, locate, seal
from mt.common.about import DISTRIBUTION
from mt.common.input_files import read_text, reason
from mt.decoding.confidence import FILE as CONFIDENCES, load_calibration
from mt.errors import UserError, explained, require_choice
from mt.evaluation.report import origin
from mt.models.weights import FORMS, Form, to_storage_dtype, writing
from mt.storage import refuse_link, replaced_folder, write_json, write_text

Format = Literal["safetensors", "onnx"]
FORMATS: tuple[Format, ...] = get_args(Format)


def export(
    run: Path,
    folder: Path,
    *,
    checkpoint: str = "best",
    format: Format = "safetensors",
    dtype: Form = "float32",
    licence: Path | None = None,
) -> None:
    """Writes a new folder, which `load` and the scripts take as they take a run.

    licence: a text that the weights are given to others under; by default that of this project. Raises UserError where
    the folder holds anything, where `run` is no run, and where it cannot be exported so.
    """
    for option, value, known in (("format", format, FORMATS), ("dtype", dtype, FORMS)):
        require_choice(option, str(value), known)
    _require_new(folder)
    terms = _terms(licence)
    # Located once, since `best` may move in a run that still trains.
    source = locate(run, checkpoint)
    model, tokenizers, config = load_model(source, checkpoint)
    meta = load_meta(source)
    try:
        with replaced_folder(folder) as draft:
            write_json(draft / CONFIG, config.model_dump(mode="json"))
            tokenizers.save(draft)
            if checkpoint == "best" and (calibration := load_calibration(run, meta.trained)) is not None:
                write_json(draft / CONFIDENCES, calibration.model_dump(mode="json"))
            if format == "onnx":
                from mt.export.graphs import write_graphs  # Not above: it needs the extra onnx.

                write_graphs(draft, model, config, origin(run, checkpoint), dtype)
            else:
                names = {name for name, _ in model.named_parameters(remove_duplicate=False)}
                with writing(folder):
                    save_file(to_storage_dtype(load_file(source / MODEL), dtype, names), draft / MODEL)
                (draft / MODEL).chmod((draft / CONFIG).stat().st_mode)  # safetensors lets nobody else read its files
                seal(draft, About(**meta.model_dump(include=set(About.model_fields))))
            # Not among the files whose sums are kept: people may edit it.
            write_text(draft / "LICENSE", [terms.rstrip("\n")])
    except OSError as error:
        raise UserError(explained(error, folder)) from error


def files(folder: Path) -> list[tuple[str, int]]:
    """Returns the names of the files of a folder, with their sizes in bytes."""
    return [(path.name, path.stat().st_size) for path in sorted(folder.iterdir())]


def _require_new(folder: Path) -> None:
    """Raises UserError where a folder holds anything, or is a file or a link."""
    refuse_link(folder)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        kind = "is not empty" if folder.is_dir() else "is a file"
        raise UserError(f"{folder} {kind}, and an export replaces nothing: give the name of a new folder")


def _terms(licence: Path | None) -> str:
    """Returns the text of a licence, by default that of this project."""
    if licence is None:
        own = Path(__file__).parents[2] / "LICENSE"  # of a clone
        if own.is_file():
            return read_text(own)
        texts = (distribution.read_text("licenses/LICENSE") for distribution in distributions(name=DISTRIBUTION))
        return next(filter(None, texts), "MIT\n")
    try:
        return read_text(licence)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{licence} cannot be read as text ({reason(error)}): give the file of a licence") from None
