"""Writes `--help`: the comments of conf/, which is the manual, with the values that the command line gives."""

import re
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from mt.cli.choices import CONF, Preset, choices, groups, search_path
from mt.common.options import as_typed, flat
from mt.errors import UserError, nearest, shown

_KEY = re.compile(r"(?P<indent> *)(?P<key>\w+):(?P<rest>.*)")


def manual(
    name: str, typed: Sequence[str], roots: Sequence[Path], *, added: Sequence[str] = (), whole: bool = False
) -> str:
    """Returns what `conf/<name>.yaml` says at its head, then groups with their choices, then options with their values:
    of the whole configuration, with a line about each choice, or of its root and of the parts that the command line
    names.

    typed: the overrides of one job. added: those that its presets need.
    """
    composed = _composed(name, [*typed, *added], roots)
    chosen = composed.pop("hydra")["runtime"]["choices"]
    root = _file("", name, roots)
    width = min(120, shutil.get_terminal_size().columns)
    lines = [*_head(root), "", *(_all_choices if whole else _names_of_choices)(chosen, roots, width)]
    named = {re.split(r"[./=]", line.lstrip("+~"))[0] for line in typed}
    parts = [(title, part) for title, part in _parts(composed) if whole or not title or title in named]
    lines += ["", "options, with their values:"]
    for title, part in parts:
        lines.append("")
        notes = _notes(title, root, chosen, roots)
        for key, value in flat(part, f"{title}." if title else ""):
            if not key.endswith(".name") or key == "dataset.name":  # others are the names of choices
                lines.append(_row(f"  {key}={as_typed(value)}", notes.get(key, ""), 44, width))
    if not whole:
        lines += ["", "--help all: every choice in a line, and the options of all parts"]
    return "\n".join(lines)


def explanation(name: str, typed: Sequence[str], roots: Sequence[Path], *, key: str, presets: Preset) -> str:
    """Returns the value that an option has under a command line, where it comes from, and what the option is.

    key: the dotted name of an option, or a group. Raises UserError where there is none of this name.
    """
    # The configuration is composed as a run would compose it, so that the value is the one in force.
    composed = _composed(name, [*typed, *presets.removed], roots)
    chosen = composed.pop("hydra")["runtime"]["choices"]
    options = {**dict(flat(composed)), **chosen}
    if key not in options:
        raise UserError(f"--explain {shown(key)} is no option here: {nearest(key, options)}")
    # The innermost group that the option lies in tells which file has its default.
    names = key.split(".")
    inner = ["/".join(names[:count]) for count in range(len(names) - 1, 0, -1)]
    group = next((one for one in inner if one in chosen), "")
    # An experiment changes options and choices, so its file may be the origin.
    experiment = chosen.get("experiment")
    of_experiment: Any = {}
    if experiment:
        of_experiment = OmegaConf.to_container(OmegaConf.load(_file("experiment", experiment, roots)), resolve=False)
    overridden = [str(one) for default in of_experiment.get("defaults", []) for one in default]
    # What overrides the most is asked first: command line, experiment, preset, default.
    if any(line.lstrip("+").partition("=")[0] == key for line in typed):
        source = "the command line"
    elif key in dict(flat(of_experiment)) or f"override /{key}" in overridden:
        source = f"conf/experiment/{experiment}.yaml"
    elif key in presets.options:
        source = presets.options[key]
    else:
        source = f"the default, in conf/{f'{group}/{chosen[group]}' if group else name}.yaml"
    # The comment beside the option in its file says what it is.
    note = _notes(names[0] if len(names) > 1 else "", _file("", name, roots), chosen, roots).get(key, "")
    return f"{key}={as_typed(options[key])}, from {source}{f': {note}' if note else ''}"


def _composed(name: str, overrides: Sequence[str], roots: Sequence[Path]) -> dict[str, Any]:
    """Returns the configuration as plain data, with Hydra's own part, and interpolations as they stand."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        composed = compose(name, [*search_path(roots), *overrides], return_hydra_config=True)
    return cast(dict[str, Any], OmegaConf.to_container(composed, resolve=False))


def _names_of_choices(chosen: Mapping[str, str], roots: Sequence[Path], width: int) -> Iterator[str]:
    """Yields a row for each group: which choice is made, and which there are."""
    yield "groups, with the choice that is made, and all that there are:"
    yield ""
    for group in groups(roots):
        if group in chosen:
            yield _row(f"  {group}={chosen[group] or 'null'}", ", ".join(choices(group, roots)), 30, width)


def _all_choices(chosen: Mapping[str, str], roots: Sequence[Path], width: int) -> Iterator[str]:
    """Yields a row for each choice of each group: what it is."""
    yield "groups, with their choices (* chosen):"
    for group in groups(roots):
        if group in chosen:
            yield f"\n  {group}"
            for choice in choices(group, roots):
                mark = "*" if choice == chosen[group] else " "
                yield _row(f"  {mark} {choice}", _summary(_file(group, choice, roots)), 30, width)


def comments(path: Path) -> dict[str, str]:
    """Returns the comment of each option of a file, by its dotted key: on its line and on those below that begin
    far in, or, of an option without one, on the line above."""
    notes: dict[str, str] = {}
    parents: list[tuple[int, str]] = []  # indentation and key, the option itself last
    key = above = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := _KEY.fullmatch(line):
            indent = len(match["indent"])
            parents = [(depth, name) for depth, name in parents if depth < indent] + [(indent, match["key"])]
            key = ".".join(name for _, name in parents)
            notes[key] = f" {match['rest']}".partition(" # ")[2].strip() or above
        elif key and (continuation := re.fullmatch(r" {12,}# (.*)", line)):
            notes[key] += f" {continuation[1]}"
            continue
        above = line.strip().removeprefix("# ") if line.strip().startswith("#") and key else ""
    return notes


def _head(path: Path) -> list[str]:
    """Returns the lines of the comment that a file begins with."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("# @package")]
    count = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return [line[1:].removeprefix(" ") for line in lines[:count]]


def _summary(path: Path) -> str:
    """Returns the first sentence of a file's head; where it has none, the comment of its name."""
    head = " ".join(_head(path))
    # A sentence does not end after "et al.", an initial, or the dot of a product.
    sentence = re.split(r"(?<!\bal)(?<!\b[A-Z])(?<!\s)\.(?=\s|$)", head)[0] if head else comments(path).get("name", "")
    return textwrap.shorten(sentence, 160, placeholder=" ...")


def _file(group: str, choice: str, roots: Sequence[Path]) -> Path:
    """Returns the file of a choice, of the first folder that has one."""
    return next(path for root in roots if (path := root / group / f"{choice}.yaml").is_file())


def _parts(composed: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the parts of a configuration with their names; options of the root come last, under no name."""
    yield from ((str(key), value) for key, value in composed.items() if isinstance(value, Mapping))
    yield "", {key: value for key, value in composed.items() if not isinstance(value, Mapping)}


def _notes(title: str, root: Path, chosen: Mapping[str, str], roots: Sequence[Path]) -> dict[str, str]:
    """Returns the comments of a part's options: of the chosen files, else of the fullest others of their groups."""
    notes = comments(root)
    for group in (group for group in chosen if title and (group == title or group.startswith(f"{title}/"))):
        files = {choice: comments(_file(group, choice, roots)) for choice in choices(group, roots)}
        prefix = group.replace("/", ".")
        for _, file_notes in sorted(files.items(), key=lambda file: (file[0] == chosen[group], len(file[1]))):
            notes |= {f"{prefix}.{key}": note for key, note in file_notes.items() if note}
    return notes


def _row(left: str, right: str, column: int, width: int) -> str:
    """Returns two columns; the right one is wrapped, and goes below where the left one is too wide."""
    space = " " * column
    wrapped = textwrap.wrap(right, max(20, width - column)) or [""]
    if len(left) >= column:
        return "\n".join([left, *(space + line for line in wrapped if line)])
    return "\n".join([left.ljust(column) + wrapped[0], *(space + line for line in wrapped[1:])]).rstrip()
