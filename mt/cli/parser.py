"""Parses command lines; every complaint is one sentence, and status 2."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from mt.common.about import VERSION
from mt.errors import UserError, nearest, reported, shown, use_utf8, with_own_commands

_NUMBER = re.compile(r"-\.?\d.*")
_RENAMED = {
    "--k": "--wait-k",
    "--unit": "--latency-unit",
    "--tokenizer": "--bleu-tokenizer",
    "--dtype": "--precision",
    "--int8": "--precision int8",
}
"""Options that had another name in some command."""
_KINDS = {"int": "a whole number", "float": "a number"}


class Parser(argparse.ArgumentParser):
    """`argparse` with sentences in place of its usage. Positional arguments may stand between and after options, and an
    option is given once."""

    def __init__(self, doc: str | None, *, prog: str | None = None, parents: Sequence[argparse.ArgumentParser] = ()):
        """parents: whose options it has; --help is one of theirs where there are any."""
        super().__init__(
            prog=prog or _started_as(),
            description=doc,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=list(parents),
            add_help=not parents,
        )
        release = f"mt {VERSION}"
        if "--version" in self._option_string_actions:  # Hydra has one, which tells its own
            vars(self._option_string_actions["--version"])["version"] = release
        else:
            self.add_argument("--version", action="version", version=release, help="show the version of mt")
        self.register("type", Path, _path)
        self.flags_of_options: dict[str, str] = {}  # `search.beam_size`: `--beam`, for `search.beam_size=3`
        use_utf8()  # for what --help prints, too

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Parses as `argparse` does. A mistake ends the process."""
        words, rest = self._with_flags(sys.argv[1:] if args is None else args)
        self._check(words)
        options, surplus = self.parse_known_intermixed_args(words, namespace)
        options.assignments = rest
        if surplus:
            self.error(f"{shown(surplus[0])} is one argument too many: leave it out")
        return options

    def _with_flags(self, words: Iterable[str]) -> tuple[list[str], dict[str, str]]:
        """Returns the words with `search.beam_size=3` as `--beam=3`, and apart from them the values of those options of
        search that have no flag here, or are to be `null`."""
        flagged: list[str] = []
        rest: dict[str, str] = {}
        for word in words:
            option, equals, value = word.partition("=")
            if not (self.flags_of_options and equals and re.fullmatch(r"search(\.\w+)?", option)):
                flagged.append(word)
            elif option in self.flags_of_options and value != "null":
                flagged.append(f"{self.flags_of_options[option]}={value}")
            elif option in rest:
                self.error(f"{option} is given more than once: give it once")
            else:
                rest[option] = value
        return flagged, rest

    def error(self, message: str) -> NoReturn:
        """Ends the process. message: argparse's, or a sentence already."""
        with reported():
            raise UserError(f"{self._sentence(message)}; see --help")
        raise AssertionError("`reported` ends the process")

    def _check(self, words: Sequence[str]) -> None:
        """Refuses an option that does not exist, that may be several, or that is given twice: the last one would win in
        silence."""
        seen: set[argparse.Action] = set()
        for name in _names(words):
            known = self._option_string_actions
            fitting = [name] if name in known else [one for one in known if name[:2] == "--" and one.startswith(name)]
            actions = {known[one] for one in fitting}
            if not actions and name[:2] != "--" and name[:2] in known:  # -cjob
                continue
            new = _RENAMED.get(name, "")
            if not actions and new.split()[:1] and new.split()[0] in known:
                self.error(f"{name} is called {new} now: write that")
            if not actions:
                self.error(f"unknown option {shown(name)}: {nearest(name, (one for one in known if one[:2] == '--'))}")
            if len(actions) > 1:
                self.error(f"{name} may be {' or '.join(sorted(fitting))}: write it out")
            if actions & seen:
                self.error(f"{fitting[0]} is given more than once: give it once")
            seen |= actions

    def format_help(self) -> str:
        """Returns the help of `argparse`, with commands spelt as this process was started."""
        return with_own_commands(super().format_help())

    def _sentence(self, message: str) -> str:
        """Returns a complaint of argparse in our words; one that is not known here, in its own."""
        # An argument that is missing is named together with a whole command that has it.
        if match := re.fullmatch(r"the following arguments are required: (.*)", message):
            return f"{' and '.join(match[1].split(', '))} missing: write {self._needed()}"
        # Other complaints begin with the argument they are about, and the rest says what is wrong.
        match = re.fullmatch(r"argument (\S+): (.*)", message, re.DOTALL)
        if match is None:
            return shown(message, 1000)
        name = match[1].split("/")[0]
        complaint = match[2]
        action = next((one for one in self._actions if name in (*one.option_strings, one.metavar, one.dest)), None)
        # Each kind of complaint has its sentence, which says what to write in place of what was typed.
        if re.match(r"expected .*argument", complaint) and action is not None:
            return f"{name} has no value: write {_written(action)}{f' ({action.help})' if action.help else ''}"
        if value := re.fullmatch(r"invalid choice: (.*) \(choose from .*\)", complaint, re.DOTALL):
            known = map(str, (action and action.choices) or ())
            return f"{name} {shown(_unquoted(value[1])) or repr('')} is an invalid choice: {nearest(value[1], known)}"
        if value := re.fullmatch(r"invalid (\w+) value: (.*)", complaint, re.DOTALL):
            kind = _KINDS.get(value[1], f"a {value[1]}")
            return f"{name} {shown(_unquoted(value[2])) or repr('')} is not possible: give {kind}"
        if value := re.fullmatch(r"ignored explicit argument (.*)", complaint, re.DOTALL):
            return f"{name} takes no value, and {shown(value[1])} is one: write {name} alone"
        return f"{name}: {shown(complaint, 1000)}"

    def _needed(self) -> str:
        """Returns the shortest command line that is complete."""
        return " ".join([self.prog, *(_written(action) for action in self._actions if action.required)])


def typed_flags(options: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """Returns those of these options that are on the command line, as they are written there."""
    return [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) not in (None, False)]


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """Returns a type of argument for `argparse`: a whole number within bounds."""

    def convert(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,30}", text, re.ASCII) or not lowest <= int(text) <= highest:
            raise argparse.ArgumentTypeError(
                f"{shown(text) or repr('')} is not a whole number from {lowest} to {highest}"
            )
        return int(text)

    return convert


def _started_as() -> str:
    """Returns how this process was started, for what is to be typed again: `mt score`, or `python scripts/score.py`."""
    program = sys.argv[0]
    if Path(program).name in ("mt", "__main__.py") and len(sys.argv) > 1:
        return f"{'mt' if Path(program).name == 'mt' else 'python -m mt'} {sys.argv[1]}"
    return f"python {program}" if program.endswith(".py") else Path(program).name


def _path(text: str) -> Path:
    """Returns a path. Raises ArgumentTypeError for what names none."""
    # Path("") is the folder that one stands in, which nobody means by an empty variable of a shell.
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"{shown(text) or repr('')} names no file and no folder: give a path")
    return Path(text)


def _names(words: Sequence[str]) -> Iterator[str]:
    """Yields the options among the words of a command line, as they are written there."""
    for word in words:
        if word == "--":
            return
        if word.startswith("-") and word != "-" and " " not in word and not _NUMBER.fullmatch(word):
            yield word.partition("=")[0]


def _written(action: argparse.Action) -> str:
    """Returns an argument as it is to be written, such as `--beam K`, or `RUN ...`."""
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    several = " ..." if action.nargs in ("+", "*") else ""
    return " ".join([*action.option_strings[:1], f"{value}{several}"])


def _unquoted(text: str) -> str:
    """Returns a text without the quotes that Python shows it in."""
    return text[1:-1] if text[:1] in "'\"" else text
