"""Writes `--help` and `--explain`. The comments of conf/ are the manual, shown with the values that the command line
gives; how they are read comes last."""

import re
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from omegaconf import DictConfig

from mt.cli.choices import Preset, choices, file_of, groups, inner_groups, plain_of
from mt.common.options import as_typed, flat
from mt.errors import UserError, nearest, shown

_KEY = re.compile(r"(?P<indent> *)(?P<key>\w+):(?P<rest>.*)")


def manual(name: str, composed: DictConfig, typed: Sequence[str], roots: Sequence[Path], *, whole: bool = False) -> str:
    """Returns what `conf/<name>.yaml` says at its head, then groups with their choices, then options with their values.
    Without `whole` the options are of the root and of the parts that the command line names.

    composed: what the command line comes to, with Hydra's own part. typed: its overrides.
    """
    plain, chosen = plain_of(composed)
    root = file_of("", name, roots)
    width = min(120, shutil.get_terminal_size().columns)
    lines = [*_head(root), "", *(_all_choices if whole else _names_of_choices)(chosen, roots, width)]
    named = {re.split(r"[./=]", line.lstrip("+~"))[0] for line in typed}
    # Options of the root come last.
    parts = {str(key): value for key, value in plain.items() if isinstance(value, Mapping)}
    parts[""] = {key: value for key, value in plain.items() if key not in parts}
    lines += ["", "options, with their values:"]
    for title in [title for title in parts if whole or not title or title in named]:
        lines.append("")
        notes = _notes(title, root, chosen, roots)
        for key, value in flat(parts[title], f"{title}." if title else ""):
            if not key.endswith(".name") or key == "dataset.name":  # others are the names of choices
                lines.append(_row(f"  {key}={as_typed(value)}", notes.get(key, ""), 44, width))
    if not whole:
        lines += ["", "--help all: every choice in a line, and the options of all parts"]
    return "\n".join(lines)


def explanation(
    name: str, composed: DictConfig, typed: Sequence[str], roots: Sequence[Path], *, key: str, presets: Preset
) -> str:
    """Returns the value that an option has under a command line, where it comes from, and what the option is. key: the
    dotted name of an option, or a group; the rest as in `manual`."""
    plain, chosen = plain_of(composed)
    options = {**dict(flat(plain)), **chosen}
    if key not in options:
        raise UserError(f"--explain {shown(key)} is no option here: {nearest(key, options)}")
    # What overrides the most is asked first: the command line, an experiment or a preset, and the default of a file.
    if any(line.lstrip("+").partition("=")[0] == key for line in typed):
        source = "the command line"
    elif key in presets.origins:
        source = presets.origins[key]
    else:
        group = next((group for group in inner_groups(key) if group in chosen), "")
        source = f"the default, in conf/{f'{group}/{chosen[group]}' if group else name}.yaml"
    # The comment beside the option in its file says what it is.
    title = key.partition(".")[0] if "." in key else ""
    note = _notes(title, file_of("", name, roots), chosen, roots).get(key, "")
    return f"{key}={as_typed(options[key])}, from {source}{f': {note}' if note else ''}"


def _names_of_choices(chosen: Mapping[str, str | None], roots: Sequence[Path], width: int) -> Iterator[str]:
    yield "groups, with the choice that is made, and all that there are:"
    yield ""
    for group in groups(roots):
        if group in chosen:
            yield _row(f"  {group}={chosen[group] or 'null'}", ", ".join(choices(group, roots)), 30, width)


def _all_choices(chosen: Mapping[str, str | None], roots: Sequence[Path], width: int) -> Iterator[str]:
    yield "groups, with their choices (* chosen):"
    for group in groups(roots):
        if group in chosen:
            yield f"\n  {group}"
            for choice in choices(group, roots):
                mark = "*" if choice == chosen[group] else " "
                yield _row(f"  {mark} {choice}", _summary(file_of(group, choice, roots)), 30, width)


def comments(path: Path) -> dict[str, str]:
    """Returns the comment of each option of a file, by its dotted key. It stands on the option's line and on those
    below that begin far in; else on the line above."""
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


def _notes(title: str, root: Path, chosen: Mapping[str, str | None], roots: Sequence[Path]) -> dict[str, str]:
    """Returns the comments of a part's options: of the chosen files, else of the fullest others of their groups."""
    notes = comments(root)
    for group in (group for group in chosen if title and (group == title or group.startswith(f"{title}/"))):
        files = {choice: comments(file_of(group, choice, roots)) for choice in choices(group, roots)}
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
