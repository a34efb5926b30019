"""`key=value` as a shell hands it over, for Hydra's grammar: text that the grammar cannot read, and that can mean
nothing but itself, is put into quotes, so that nobody has to know them."""

import io
import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mt.cli.choices import groups
from mt.common.input_files import read_bytes, reason
from mt.errors import UserError, first_line, shown

PATHS = ("folder", "resume", "init_from", "corpora", "dataset.folder", "dataset.media_folder")
"""Options whose value is a path, besides every `model_file` and file of `pretrained` vectors."""
_FILE = re.compile(r"[^=]*\.ya?ml", re.DOTALL)
_ASSIGNMENT = re.compile(r"(?P<key>[+]{0,2}[A-Za-z_][\w./-]*)=(?P<value>.*)", re.DOTALL | re.ASCII)


def quote_text(line: str) -> str:
    """Returns an argument for Hydra: unchanged, or with quotes round text.

    A path is text whatever it looks like (`folder=2026`), and `~/` at its beginning is the user's home. Of a list, and
    of the values of a sweep, each is put into quotes.
    """
    match = _ASSIGNMENT.fullmatch(line)
    if match is None:
        return line
    if line == "online=true":  # a group, whose choices are texts
        return 'online="true"'
    key = match["key"]
    value = match["value"]
    is_path = _is_path(key)
    if is_path and value.startswith("~"):
        value = os.path.expanduser(value)
        line = f"{key}={value}"
    override = _read(line)
    if override is not None:
        typed = None if override.is_sweep_override() else override._value
        is_other = type(typed) in (int, float, list) or (isinstance(typed, str) and typed != value)
        return f"{key}={in_quotes(value)}" if is_path and is_other else line
    inner = value[1:-1] if value[:1] == "[" and value[-1:] == "]" and not is_path else value
    if value[:1] in "[{(" and (inner == value or re.search(r"[\[\]{}]", inner)) and not is_path:
        return line  # half a list, or lists within lists: whether it is a text, nobody knows
    if value[:1] in "'\"" or value[-1:] in "'\"":
        return line  # half of quotes, as a shell takes away the other half
    parts = [part if _read(f"{key}={part}") is not None else in_quotes(part) for part in inner.split(",")]
    return f"{key}={','.join(parts)}" if inner == value else f"{key}=[{','.join(parts)}]"


def with_files(words: Sequence[str], roots: Sequence[Path]) -> list[str]:
    """Returns the words of a command line with the options of a YAML file (`run.yaml`) in its place, but for those that
    are typed, and those of a part that is chosen anew.

    Raises UserError for a file that holds no options.
    """
    files = [word for word in words if _FILE.fullmatch(word)]
    typed = [word for word in words if word not in files]
    if len(files) > 1:
        raise UserError(f"{' and '.join(files)} are several files: give one, and what differs as key=value")
    keys = {word.lstrip("+~").partition("=")[0] for word in typed}
    chosen = {f"{key.replace('/', '.')}." for key in keys & {*groups(roots)}}
    lines = [line for path in files for line in _file_lines(Path(path), {*groups(roots)})]
    named = [(line.partition("=")[0], line) for line in lines]
    return [
        *(line for key, line in named if key not in keys and not f"{key.replace('/', '.')}.".startswith((*chosen,))),
        *typed,
    ]


def _file_lines(path: Path, known: Collection[str]) -> list[str]:
    """Returns the options of a YAML file as they are typed. known: the groups; a part of a run's own file is chosen by
    its `name`."""
    try:
        content: Any = OmegaConf.to_container(OmegaConf.load(io.BytesIO(read_bytes(path))), resolve=True)
    except OSError as error:
        raise UserError(f"{path} cannot be read as YAML ({reason(error)}): give a file of options") from None
    except (yaml.YAMLError, OmegaConfBaseException, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read as YAML ({first_line(error)}): give a file of options") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} holds no options: give a file such as a run's config.yaml")
    plain: dict[str, Any] = content
    if plain.get("init_from") is not None:  # whose tokenizers and vectors are taken
        plain = {key: value for key, value in plain.items() if key != "embedding"} | {
            "dataset": {key: value for key, value in dict(plain.get("dataset") or {}).items() if key != "tokenizer"}
        }
    lines = []
    for part, options in plain.items():
        if not isinstance(options, Mapping):
            lines.append(f"{part}={options if part in known and isinstance(options, str) else _in_grammar(options)}")
            continue
        for key, value in options.items():
            inner = f"{part}/{key}"
            if key == "name" and part in known:
                lines.insert(0, f"{part}={value}")
            elif inner in known and isinstance(value, Mapping):
                lines += [f"{inner}={value['name']}"] if "name" in value else []
                lines += [f"{part}.{key}.{name}={_in_grammar(one)}" for name, one in value.items() if name != "name"]
            elif inner in known:
                lines.append(f"{inner}={value}")
            elif value != {}:
                lines.append(f"{part}.{key}={_in_grammar(value)}")
    return lines


def _in_grammar(value: Any) -> str:
    """Returns a value as Hydra's grammar reads it."""
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key}:{_in_grammar(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_in_grammar, value))}]"
    return in_quotes(value) if isinstance(value, str) else json.dumps(value)


def in_quotes(text: str) -> str:
    """Returns text in the quotes of Hydra's grammar."""
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', text)
    return '"' + re.sub(r"(\\+)$", r"\1\1", escaped) + '"'


def shell_argument(line: str) -> str:
    """Returns what to type in a shell, so that the value is the text as it stands."""
    key, _, value = line.partition("=")
    return shlex.quote(f"{key}={in_quotes(value)}")


def unreadable_sentence(line: str) -> str:
    """Returns the sentence for an argument that is no override."""
    if not _ASSIGNMENT.fullmatch(line):
        return f"{shown(line)} cannot be read: write group=choice or key=value, with an option's name before the ="
    return (
        f"{shown(line)} cannot be read: for this text, type {shown(shell_argument(line), 300)}; a list is written "
        f"{line.partition('=')[0]}=[A,B]"
    )


def several_values_sentence(override: Override) -> str:
    """Returns the sentence for values of a sweep where there is none."""
    line = override.input_line or ""
    sentence = f"{shown(line)} has several values: for a run of each, add -m"
    if not _is_path(override.key_or_group):
        return sentence
    return f"{sentence}; for one path with commas, type {shown(shell_argument(line), 300)}"


def require_once(overrides: Sequence[Override]) -> None:
    """Raises UserError where an option or group is typed twice, since the last one would win in silence, or is put
    into another place by `@`."""
    for override in overrides:
        if override.package is not None or not override.key_or_group:
            raise UserError(
                f"{shown(override.input_line or '')} names no option before the =: write group=choice or key=value"
            )
    counted = Counter(override.key_or_group for override in overrides)
    for key, count in counted.items():
        if count > 1:
            lines = [one.input_line or "" for one in overrides if one.key_or_group == key]
            raise UserError(f"{key} is given more than once ({shown(' '.join(lines), 200)}): give it once")


def _is_path(key: str) -> bool:
    """Returns whether the value of an option is a path."""
    name = key.lstrip("+")
    return name in PATHS or name.endswith(".model_file") or name.startswith("embedding.pretrained")


def _read(line: str) -> Override | None:
    """Returns an argument as Hydra's grammar reads it; None where it cannot."""
    try:
        return OverridesParser.create().parse_override(line)
    except (HydraException, ValueError, RecursionError):  # a number of 10,000 digits, lists 1,000 deep
        return None
