"""Parses command lines; every complaint is one sentence, and status 2. The parser comes first, then types of options,
then spellings for messages."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from mt.common.about import VERSION
from mt.errors import UserError, nearest, reported, shown, use_utf8

_NUMBER = re.compile(r"-\.?\d.*")
_RENAMED = {
    "--k": "--wait-k",
    "--unit": "--latency-unit",
    "--tokenizer": "--bleu-tokenizer",
    "--dtype": "--precision",
    "--int8": "--precision int8",
    "--push": "`hf upload OWNER/NAME DIR` puts what is exported on the Hugging Face hub",
    "--show": "the page of `mt serve` shows when each word is read and written",
}
"""Options that had another name in some command, or are gone, and what to do without them."""


class Parser(argparse.ArgumentParser):
    """`argparse` with sentences in place of its usage. Positional arguments may stand between and after options, and an
    option is given once."""

    def __init__(self, doc: str | None, *, prog: str | None = None, add_help: bool = True):
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(prog or _started_as(), description=doc, formatter_class=formatter, add_help=add_help)
        self.add_argument("--version", action="version", version=f"mt {VERSION}", help="show the version of mt")
        self.register("type", Path, _path)
        self.register("type", int, _number_of(int, "a whole number"))
        self.register("type", float, _number_of(float, "a number"))
        self.flags_of_options: dict[str, str] = {}  # `search.beam_size`: `--beam`, for `search.beam_size=3`
        self.needed: dict[str, str] = {}  # `--leave-out`: `--min-confidence`, without which it would have no effect
        use_utf8()  # for what --help prints, too

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        words, rest = self._with_flags(sys.argv[1:] if args is None else args)
        self._check(words)
        options, surplus = self.parse_known_intermixed_args(words, namespace)
        options.assignments = rest
        if surplus:
            self.error(f"{shown(surplus[0])} is one argument too many: leave it out")
        typed = typed_flags(options)
        for flag in typed:
            if (needed := self.needed.get(flag, flag)) not in typed:
                written = _written(self._option_string_actions[needed])
                self.error(f"{flag} is about {written}: add that, or leave it out")
        return options

    def _with_flags(self, words: Iterable[str]) -> tuple[list[str], dict[str, str]]:
        """Returns the words with `search.beam_size=3` as `--beam=3`. Apart from them it returns the values of those
        options of search that have no flag here, or are to be `null`."""
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

    def _check(self, words: Sequence[str]) -> None:
        """Refuses an option that does not exist, that may be several, or that is given twice: the last one would win in
        silence."""
        known = self._option_string_actions
        seen: set[argparse.Action] = set()
        for name in _names(words):
            long = [flag for flag in known if flag[:2] == "--"]
            fitting = [name] if name in known else [flag for flag in long if name[:2] == "--" and flag.startswith(name)]
            actions = {known[flag] for flag in fitting}
            if not actions and name[:2] != "--" and name[:2] in known:  # -cjob
                continue
            if not actions:
                new = _RENAMED.get(name, "")
                if new.count(" ") > 1:
                    self.error(f"{name} is gone: {new}")
                if new.partition(" ")[0] in known:
                    self.error(f"{name} is called {new} now: write that")
                self.error(f"unknown option {shown(name)}: {nearest(name, long)}")
            if len(actions) > 1:
                self.error(f"{name} may be {' or '.join(sorted(fitting))}: write it out")
            if actions & seen:
                self.error(f"{fitting[0]} is given more than once: give it once")
            seen |= actions

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            wrong = _value(str(value))
            raise argparse.ArgumentError(
                action, f"{wrong} is an invalid choice: {nearest(str(value), map(str, action.choices))}"
            )

    def error(self, message: str) -> NoReturn:
        with reported():
            raise UserError(f"{self._sentence(message)}; see --help")
        raise AssertionError("`reported` ends the process")

    def _sentence(self, message: str) -> str:
        """Returns a complaint of `argparse` in our words: it begins with the argument that it is about."""
        about, _, complaint = message.partition(": ")
        if about.endswith("arguments are required"):
            needed = " ".join([self.prog, *(_written(action) for action in self._actions if action.required)])
            return f"{' and '.join(complaint.split(', '))} missing: write {needed}"
        name = about.removeprefix("argument ").split("/")[0]
        action = next((each for each in self._actions if name in (*each.option_strings, each.metavar, each.dest)), None)
        if not about.startswith("argument ") or action is None:
            return shown(message, 1000)
        if complaint.startswith("expected "):
            return f"{name} has no value: write {_written(action)}{f' ({action.help})' if action.help else ''}"
        if complaint.startswith(ignored := "ignored explicit argument "):
            value = shown(complaint.removeprefix(ignored))
            return f"{name} takes no value, and {value} is one: write {name} alone"
        return f"{name} {shown(complaint, 1000)}"


def typed_flags(options: argparse.Namespace, names: Iterable[str] | None = None) -> list[str]:
    """Returns those of these options that are on the command line, as they are written there. names: None: of all."""
    chosen = vars(options) if names is None else names
    typed = (name for name in chosen if getattr(options, name) is not None and getattr(options, name) is not False)
    return [f"--{name.replace('_', '-')}" for name in typed]


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """Returns a type of argument for `argparse`: a whole number within bounds."""

    def convert(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,30}", text, re.ASCII) or not lowest <= int(text) <= highest:
            raise argparse.ArgumentTypeError(f"{_value(text)} is not a whole number from {lowest} to {highest}")
        return int(text)

    return convert


def _number_of(kind: Callable[[str], float], words: str) -> Callable[[str], float]:
    """Returns a type of argument: a number of a kind, which words name."""

    def convert(text: str) -> float:
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{_value(text)} is not possible: give {words}") from None

    return convert


def _path(text: str) -> Path:
    # Path("") is the folder that one stands in, which nobody means by an empty variable of a shell.
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"{_value(text)} names no file and no folder: give a path")
    return Path(text)


def _value(text: str) -> str:
    return shown(text) or repr("")


def _started_as() -> str:
    """Returns how this process was started, for what is to be typed again: `mt score`, or `python scripts/score.py`."""
    program = sys.argv[0]
    if Path(program).name in ("mt", "__main__.py") and len(sys.argv) > 1:
        return f"{'mt' if Path(program).name == 'mt' else 'python -m mt'} {sys.argv[1]}"
    return f"python {program}" if program.endswith(".py") else Path(program).name


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
