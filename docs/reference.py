"""Writes the pages of the reference from the code.

Options come from their classes and presets, commands from their help, and the Python API from its docstrings."""

import ast
import inspect
import itertools
import os
import re
import subprocess
import sys
import textwrap
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import mt
from mt.__main__ import VERBS
from mt.common.options import as_typed, flat
from mt.config import Config

ROOT = Path(__file__).parents[1]
BOUNDS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
UNBOUNDED = 1e6
"""Bounds from here on keep out nonsense alone, and are left out."""
UNITS = {
    "batches": "gradient_accumulation",
    "checkpoints": "average_checkpoints",
    "epochs": "epochs",
    "hypotheses": "beam_size n_best validate_beam samples",
    "layers": "num_layers num_value_layers convolutions stages",
    "bands": "frequency_width",
    "10 ms": "time_width",
    "Hz": "rate",
    "masks": "frequency_masks time_masks",
    "nats": "energy_bias noise_std",
    "nats per nat": "ctc_weight guided_alignment_weight r_drop entropy_weight reinforce_weight",
    "nats per token": "coverage_weight doubly_stochastic_weight latency_weight quantity_weight",
    "pairs": "dev_size test_size limit sample batch_sentences",
    "pieces": "vocab_size new_pieces user_symbols placeholders",
    "pixels": "field.size",
    "positions": "kernel_size filter_reach window attention.chunk_size max_source_length",
    "places": "field.places",
    "processes": "workers",
    "recordings": "test_recordings dev_recordings",
    "seconds": "max_seconds gaps",
    "sentences": "validate_limit plots",
    "share": "dropout word_dropout recurrent_dropout time_share sample_ratio singles character_coverage share "
    "bpe_dropout label_smoothing ema_decay baseline_decay betas rho",
    "tokens": "batch_tokens max_extra max_length min_length no_repeat_ngram_size k wait_k",
    "tokens per token": "search.max_ratio",
    "units": "aligner_size bands channels embedding_dim hidden_size feed_forward_size readout_size attention_dim "
    "filters frontend.size",
    "updates": "max_updates warmup hold validate_every save_every log_every",
    "validations": "patience",
    "–": "seed init_range speeds metrics references weight max_ratio lengths forget_bias lr weight_decay factor "
    "every after floor eps initial_accumulator_value freeze max_grad_norm temperature sharpness unigram_alpha "
    "length_penalty coverage_penalty summary_penalty placeholder_syntaxes",
    "words": "mask_k cleaning.min_length cleaning.max_length truncate_source truncate_target max_evaluation_length",
}
"""The unit of each option that is a number or a list, by the end of its name; – is a number without a unit."""
PUBLISHED = (
    r"(?:[A-Z][\w'-]+(?: (?:et al\.|& [A-Z]\w+))? \d{4}|[Ee]quations? \d|[Ss]ections? \d|OpenNMT|JoeyNMT|fairseq|Moses)"
)
SOURCE = re.compile(rf" ?\((?=[^()]*{PUBLISHED})([^()]*)\)|^({PUBLISHED}[^.]*)\.$")
"""A publication or a toolkit that a docstring names, with the value there: in brackets, or as all of the docstring."""


def write_reference(folder: Path) -> None:
    """Writes the pages into a folder. A page that has not changed keeps its time, so that it is not built again."""
    folder.mkdir(exist_ok=True)
    for name, page in {"options": options_page, "commands": commands_page, "python": python_page}.items():
        path = folder / f"{name}.md"
        text = page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def options_page() -> str:
    """Returns a table of options for each part of the configuration, and for each choice of a part."""
    lines = [
        "# Options",
        "",
        "Every option, from the class that reads it. `source` has the publication or toolkit that an option comes",
        "from, and its value there. `presets` has the presets that change the default, and their values. A unit of –",
        "is a number alone.",
        "[How an option gets its value](../options.md) says which of several settings wins.",
    ]
    presets = _presets()
    for title, model in _parts(Config, ""):
        rows = [*_rows(title, model, presets)]
        if rows:
            name = getattr(model.model_fields.get("name"), "default", None)
            choice = f"{title}={name}" if isinstance(name, str) else title or "The root"
            columns = ("option", "type", "default", "unit", "meaning", "source", "presets")
            lines += ["", f"## {choice}", "", _summary(model), "", f"| {' | '.join(columns)} |"]
            lines += ["|---" * len(columns) + "|", *rows]
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    """Returns what each command says of itself."""
    lines = ["# Commands", "", "`mt VERB --help` prints the same. Scripts of these names do the same in a clone."]
    environment = os.environ | {"COLUMNS": "110"}
    for verb, (_, summary) in VERBS.items():
        command = [sys.executable, "-m", "mt", verb, "--help"]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        lines += [
            "",
            f"## mt {verb}",
            "",
            f"{summary[0].upper()}{summary[1:]}.",
            "",
            "```text",
            done.stdout.rstrip(),
            "```",
        ]
    return "\n".join(lines) + "\n"


def python_page() -> str:
    """Returns directives that have Sphinx show the docstrings of all public names."""
    lines = ["# Python", "", "All public names are imported from `mt`. None of them loads torch before it is used."]
    for name in sorted(set(mt.__all__) - {"__version__"}):
        is_class = inspect.isclass(getattr(mt, name))
        lines += [
            "",
            f"## {name}",
            "",
            "```{eval-rst}",
            f".. {'autoclass' if is_class else 'autofunction'}:: mt.{name}",
        ]
        lines += ["   :members:", "   :exclude-members: model_config"] if is_class else []
        lines += ["```"]
    return "\n".join(lines) + "\n"


def _parts(model: type[BaseModel], title: str) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yields each class of options with the dotted name of its part, the nested ones after those that hold them."""
    yield title, model
    for name, field in model.model_fields.items():
        for inner in _models(field.annotation):
            yield from _parts(inner, f"{title}.{name}".lstrip("."))


def _models(annotation: Any) -> list[type[BaseModel]]:
    """Returns the classes of options that an annotation allows."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in typing.get_args(annotation) for model in _models(inner)]


def _rows(title: str, model: type[BaseModel], presets: dict[str, list[str]]) -> Iterator[str]:
    meanings = _meanings(model)
    for name, field in model.model_fields.items():
        if name == "name" or _models(field.annotation):
            continue
        key = f"{title}.{name}".lstrip(".")
        of_choice = f"{title}={getattr(model.model_fields.get('name'), 'default', '')}.{name}"
        side = re.fullmatch(r"(dataset\.tokenizer)\.(source|target)\.(\w+)", key)
        text = f"`{side[1]}.{side[3]}` of the {side[2]} alone." if side else meanings[name]
        bounds = [
            f"{sign} {getattr(m, bound):g}"
            for m in field.metadata
            for bound, sign in BOUNDS.items()
            if hasattr(m, bound) and abs(getattr(m, bound)) < UNBOUNDED
        ]
        default = "" if field.default is PydanticUndefined else f"`{as_typed(field.default)}`"
        kind = _type(field.annotation)
        meaning = SOURCE.sub("", text).strip()
        source = "; ".join(found[1] or found[2] for found in SOURCE.finditer(text))
        changed = ", ".join([*presets.get(key, ()), *presets.get(of_choice, ())])
        cells = (f"`{key}`", ", ".join([kind, *bounds]), default, _unit(key, kind), meaning, source, changed)
        yield f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _unit(key: str, kind: str) -> str:
    """Returns the unit of an option, "" of one that is no number. Raises KeyError where `UNITS` lacks a number."""
    if not re.search("integer|number|list", kind):
        return ""
    units = {name: unit for unit, names in UNITS.items() for name in names.split()}
    parts = key.split(".")
    return next((units[end] for end in (".".join(parts[-2:]), parts[-1]) if end in units), "") or units[key]


def _type(annotation: Any) -> str:
    """Returns a type as a reader of YAML knows it."""
    origin = typing.get_origin(annotation)
    inner = typing.get_args(annotation)
    if annotation is type(None):
        return "null"
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin is typing.Annotated:
        return _type(inner[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type(each) for each in inner)
    if origin in (tuple, list):
        return f"list of {_type(inner[0])}"
    return {int: "integer", float: "number", str: "text", bool: "`true`, `false`"}.get(annotation, str(annotation))


def _meanings(model: type[BaseModel]) -> dict[str, str]:
    """Returns the docstrings of a class's options, those of its bases too."""
    found: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        if not issubclass(kind, BaseModel) or kind is BaseModel:
            continue
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
        body = typing.cast(ast.ClassDef, definition).body
        for field, after in itertools.pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                found[ast.unparse(field.target)] = " ".join(str(after.value.value).split())
    return found


def _summary(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split()) if "__doc__" in vars(model) else ""


def _presets() -> dict[str, list[str]]:
    """Returns for each option the presets that set it, with the value. Those of a front-end belong to its kind:
    `frontend=image.channels`."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "conf" / "preset").glob("*.yaml")):
        preset = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        kinds = [each for each in preset.pop("defaults", []) if isinstance(each, dict)]
        front_end = "".join(f"frontend={kind['override /frontend']}." for kind in kinds if "override /frontend" in kind)
        for key, value in flat(preset):
            of_choice = re.sub(r"^frontend\.", front_end or "frontend.", key)
            found.setdefault(of_choice, []).append(f"{path.stem} `{as_typed(value)}`")
    return found


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)
