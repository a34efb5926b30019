"""Reads the flags of `train.py` and of preparation, which are Hydra's, and refuses what they cannot do."""

import argparse
import contextlib
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from hydra._internal.utils import get_args_parser

from mt.cli.parser import Parser, typed_flags
from mt.errors import UserError, shown

_ACTIONS = ("explain", "cfg", "info", "run", "multirun", "shell_completion")
_COMPLETIONS = ("install=", "uninstall=", "query=")


def read_flags(words: Sequence[str]) -> argparse.Namespace:
    """Reads the flags of a command line. Raises UserError where flags do not go together, or with what else is typed;
    unknown ones end the process in a sentence."""
    parser = Parser("Hydra", parents=[get_args_parser()])
    parser.add_argument("--explain", metavar="KEY", help="say where the value of an option comes from")
    options = parser.parse_args(words)
    # Some flags of Hydra are unsafe or have no effect alone: each is refused before anything runs.
    if options.experimental_rerun is not None:
        raise UserError(
            "--experimental-rerun reads a pickle, which runs the code of whoever wrote it: write the options again, or "
            "resume=RUN to go on with a run"
        )
    for flag in ("resolve", "package"):
        if getattr(options, flag) and not (options.cfg or options.info):
            raise UserError(f"--{flag} is about what --cfg shows: add --cfg job, or leave it out")
    # Each of these flags ends the command by itself, so only one can be obeyed.
    actions = typed_flags(options, _ACTIONS)
    if len(actions) > 1:
        raise UserError(f"{' and '.join(actions)} do not go together: give one of them")
    # Folders must be there, and another configuration cannot take the place of ours.
    for flag, folder in (("dir", options.config_dir), ("path", options.config_path)):
        if folder is not None and not Path(folder).is_dir():
            raise UserError(f"--config-{flag} {shown(folder)} is no folder: give one of configuration files")
    if options.config_name is not None or options.config_path is not None:
        flag, value = (
            ("name", options.config_name) if options.config_name is not None else ("path", options.config_path)
        )
        raise UserError(
            f"--config-{flag} {shown(value)} is no configuration file of ours or of yours: leave it out; --config-dir "
            "DIR adds choices, and a YAML file of options stands by itself"
        )
    # A completion is installed or asked for one shell at a time.
    if options.shell_completion:
        shells = [line for line in options.overrides if line.startswith(_COMPLETIONS)]
        if len(shells) != 1 or (shells[0].startswith("query=") and "COMP_LINE" not in os.environ):
            raise UserError("--shell-completion is for one shell: add install=bash, install=zsh or install=fish")
    return options


@contextlib.contextmanager
def require_package(package: str | None) -> Iterator[None]:
    """Turns the line that Hydra prints inside, where the configuration has no part of this name, into a UserError."""
    if package is None:
        yield
        return
    try:
        with contextlib.redirect_stderr(io.StringIO()) as line:
            yield
    except SystemExit:
        if "not found in config" not in line.getvalue():
            raise
        raise UserError(
            f"--package {shown(package)} is no part of the configuration: give a group or an option, such as dataset"
        ) from None
