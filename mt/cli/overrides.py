"""Reads `group=choice` and `key=value` of a shell or a YAML file, and turns Hydra's complaints into sentences.

Hydra's grammar reads them. Text that the grammar cannot read, and that can mean nothing but itself, is put into quotes,
so that nobody has to know them.
"""

import contextlib
import io
import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml
from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from mt.cli.choices import CONF, choices, choices_with_option, groups
from mt.common.input_files import read_bytes, reason
from mt.errors import UserError, first_line, message_of, nearest, shown

PATHS = ("folder", "resume", "init_from", "corpora", "dataset.folder", "dataset.media_folder")
"""Options whose value is a path, besides every `model_file` and file of `pretrained` vectors."""
_ASSIGNMENT = re.compile(r"(?P<key>[+]{0,2}[A-Za-z_][\w./-]*)=(?P<value>.*)", re.DOTALL | re.ASCII)
_UNREADABLE = (HydraException, ValueError, RecursionError)  # a number of 10,000 digits, lists 1,000 deep
_QUOTES = ("'", '"')


class _Choices:
    """Gives Hydra's parser the choices of a group, for `group=glob(*)`: the one thing that it asks a loader."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots

    def get_group_options(self, group: str, results_filter: Any = None) -> list[str]:
        return choices(group, self._roots)


def parse_overrides(lines: Sequence[str], roots: Sequence[Path]) -> list[Override]:
    """Returns the overrides of a command line. Raises UserError for a line that is none."""
    parser = OverridesParser.create(config_loader=cast(ConfigLoader, _Choices(roots)))
    overrides: list[Override] = []
    for line in lines:
        try:
            overrides += parser.parse_overrides([line])
        except _UNREADABLE:
            raise UserError(_unreadable(line)) from None
    return overrides


def quote_text(line: str) -> str:
    """Returns an argument for Hydra: unchanged, or with quotes round text. A path is text whatever it looks like
    (`folder=2026`), and `~/` at its beginning is the user's home. Of several values each is put into quotes."""
    match = _ASSIGNMENT.fullmatch(line)
    if match is None:
        return line
    key = match["key"]
    is_path = _is_path(key)
    value = os.path.expanduser(match["value"]) if is_path else match["value"]
    line = f"{key}={value}"
    if line == "online=true":  # a group, whose choices are texts
        return 'online="true"'
    # What the grammar reads stays, but for a path that it would take for a number, a list or another text.
    if (read := _read(line)) is not None:
        other = type(read.value()) in (int, float, list, str) and read.value() != value
        return f"{key}={_in_quotes(value)}" if is_path and other and not value.startswith(_QUOTES) else line
    # Of half a list, lists within lists, or half of quotes (a shell takes the other half) nobody knows what is meant.
    is_list = value.startswith("[") and value.endswith("]") and not is_path
    inner = value[1:-1] if is_list else value
    nested = is_list and re.search(r"[\[\]{}]", inner)
    half = not is_list and not is_path and value.startswith(("[", "{", "("))
    if nested or half or value.startswith(_QUOTES) or value.endswith(_QUOTES):
        return line
    items = ",".join(item if _read(f"{key}={item}") else _in_quotes(item) for item in inner.split(","))
    return f"{key}=[{items}]" if is_list else f"{key}={items}"


def require_once(overrides: Sequence[Override]) -> None:
    """Raises UserError where an option or group is typed twice, since the last one would win in silence. An option that
    is put into another place by `@` is refused, too."""
    for override in overrides:
        if override.package is not None or not override.key_or_group:
            line = shown(override.input_line or "")
            raise UserError(f"{line} names no option before the =: write group=choice or key=value")
    for key, count in Counter(override.key_or_group for override in overrides).items():
        if count > 1:
            lines = [override.input_line or "" for override in overrides if override.key_or_group == key]
            raise UserError(f"{key} is given more than once ({shown(' '.join(lines), 200)}): give it once")


def several_values_sentence(override: Override) -> str:
    """Returns the sentence for values of a sweep where there is none."""
    line = override.input_line or ""
    path = f"; for one path with commas, type {_shell_argument(line)}" if _is_path(override.key_or_group) else ""
    return f"{shown(line)} has several values: for a run of each, add -m{path}"


def _read(line: str) -> Override | None:
    """Returns an argument as Hydra's grammar reads it; None where it cannot."""
    try:
        return OverridesParser.create().parse_override(line)
    except _UNREADABLE:
        return None


def _is_path(key: str) -> bool:
    name = key.lstrip("+")
    return name in PATHS or name.endswith(".model_file") or name.startswith("embedding.pretrained")


def _in_quotes(text: str) -> str:
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', text)
    return '"' + re.sub(r"(\\+)$", r"\1\1", escaped) + '"'


def _shell_argument(line: str) -> str:
    """Returns what to type in a shell, so that the value is the text as it stands."""
    key, _, value = line.partition("=")
    return shown(shlex.quote(f"{key}={_in_quotes(value)}"), 300)


def _unreadable(line: str) -> str:
    if not _ASSIGNMENT.fullmatch(line):
        return f"{shown(line)} cannot be read: write group=choice or key=value, with an option's name before the ="
    key = line.partition("=")[0]
    return f"{shown(line)} cannot be read: for this text, type {_shell_argument(line)}; a list is written {key}=[A,B]"


# A YAML file of options in the place of a command line.


def with_file(words: Sequence[str], roots: Sequence[Path]) -> list[str]:
    """Returns the words of a command line with the options of a YAML file (`run.yaml`) in its place. Options that are
    typed are left out, and options of a part that is chosen anew."""
    files = [word for word in words if "=" not in word and word.endswith((".yaml", ".yml"))]
    typed = [word for word in words if word not in files]
    if len(files) > 1:
        raise UserError(f"{' and '.join(files)} are several files: give one, and what differs as key=value")
    known = {*groups(roots)}
    keys = {word.lstrip("+~").partition("=")[0] for word in typed}
    anew = tuple(f"{key.replace('/', '.')}." for key in keys & known)
    options = [option for path in files for option in _options("", _content(Path(path)), known)]
    kept = [(key, value) for key, value in options if not (key in keys or f"{key.replace('/', '.')}.".startswith(anew))]
    return [*(f"{key}={value}" for key, value in kept), *typed]


def _content(path: Path) -> dict[str, Any]:
    """Returns the options of a YAML file; without those that come with the run that it starts from."""
    try:
        content = OmegaConf.to_container(OmegaConf.load(io.BytesIO(read_bytes(path))), resolve=True)
    except (OSError, yaml.YAMLError, OmegaConfBaseException, UnicodeDecodeError) as error:
        cause = reason(error) if isinstance(error, OSError) else first_line(error)
        raise UserError(f"{path} cannot be read as YAML ({cause}): give a file of options") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} holds no options: give a file such as a run's config.yaml")
    plain = cast(dict[str, Any], content)
    if plain.get("init_from") is not None:
        plain.pop("embedding", None)
        if isinstance(dataset := plain.get("dataset"), dict):
            dataset.pop("tokenizer", None)
    return plain


def _options(part: str, options: Mapping[str, Any], known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yields the options of a part, and of the groups in it, with their values as they are typed. known: the groups; a
    part of a run's own file is chosen by its `name`."""
    for key, value in options.items():
        name = f"{part}/{key}" if part else key
        if key == "name" and part in known:
            yield part, value
        elif isinstance(value, Mapping) and (not part or name in known):
            yield from _options(name, value, known)
        elif name in known and isinstance(value, str):
            yield name, value
        elif value != {}:
            yield name.replace("/", "."), _in_grammar(value)


def _in_grammar(value: Any) -> str:
    """Returns a value as Hydra's grammar reads it."""
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key}:{_in_grammar(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_in_grammar, value))}]"
    return _in_quotes(value) if isinstance(value, str) else json.dumps(value)


# Complaints of Hydra.


@contextlib.contextmanager
def complaints_as_sentences() -> Iterator[None]:
    """Turns complaints of Hydra and OmegaConf inside into UserErrors."""
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(_sentence(error)) from None
    except RecursionError:
        raise UserError("a value has lists within lists within lists, too deep to be read: write a flat one") from None


def _sentence(error: Exception) -> str:
    if isinstance(error, OverrideParseException):
        return _unreadable(error.override)
    # An unknown option is answered by the choices that have it, or by the nearest known name.
    cause = error.__cause__
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and cause.full_key:
        parent, _, wrong = cause.full_key.rpartition(".")
        if parent and (elsewhere := choices_with_option(cause.full_key, [CONF])):
            names = " or ".join(elsewhere)
            return f"unknown option {shown(cause.full_key)} here: it is an option of {names}; add that, or leave it out"
        siblings = cause.parent_node
        known = {str(key) for key in siblings} if isinstance(siblings, Mapping) and siblings else set()
        if not parent:
            known = {*known, *groups([CONF])} - {"hydra"}
        remedy = nearest(wrong, known - {wrong}) if known else f"{parent} has no options"
        return f"unknown option {shown(cause.full_key)}: {remedy}"
    # The rest are values that do not fit.
    if isinstance(error, OmegaConfBaseException) and error.full_key:
        return f"{error.full_key} cannot be read ({first_line(error)}): give it a plain value"
    merging = "Error merging override "
    if cause is not None and (typed := str(error)).startswith(merging):
        override = shown(typed.removeprefix(merging))
        return f"{override} is not possible ({first_line(cause)}): give a value of the option's kind"
    return message_of(error)
