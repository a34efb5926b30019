"""Parses command lines. Every mistake ends in one sentence and status 2. The parser comes first, then types of options,
then helpers for messages."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from mt.common.about import VERSION
from mt.errors import UserError, nearest, reported, shown, use_utf8

_NUMBER = re.compile(r"-\.?\d.*")
RENAMED = {
    "--k": "--wait-k",
    "--unit": "--latency-unit",
    "--tokenizer": "--bleu-tokenizer",
    "--dtype": "--precision",
    "--int8": "--precision int8",
    "--push": "hf upload OWNER/NAME DIR",
    "--show": "mt serve RUN, whose page shows when each word is read and written",
}
"""Options of release 0.3.0 that were renamed or removed, and what to write now."""


class Parser(argparse.ArgumentParser):
    """`argparse` with one sentence in place of its usage. Positional arguments may stand between and after options.
    Options cannot be abbreviated, and can be given only once."""

    def __init__(self, doc: str | None, *, prog: str | None = None):
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(prog or _started_as(), description=doc, formatter_class=formatter, allow_abbrev=False)
        self.add_argument("--version", action="version", version=f"mt {VERSION}", help="show the version of mt")
        for kind, convert in ((Path, _path), (int, number_of(int)), (float, number_of(float))):
            self.register("type", kind, convert)
        # `--leave-out` needs `--min-confidence`, for example: without it, it would have no effect.
        self.needed: dict[str, str] = {}
        use_utf8()  # for what --help prints, too

    def parse_args(self, args: Sequence[str] | None = None) -> argparse.Namespace:  # type: ignore[override]
        words = sys.argv[1:] if args is None else list(args)
        typed = self._typed(words)
        # What argparse has no place for is one argument too many, as `_typed` knows all flags.
        options, surplus = self.parse_known_intermixed_args(words)
        if surplus:
            self.error(f"{shown(surplus[0])} is one argument too many: leave it out")
        for flag in typed:
            if self.needed.get(flag, flag) not in typed:
                needed = _written(self._option_string_actions[self.needed[flag]])
                self.error(f"{flag} is about {needed}: add that, or leave it out")
        options.typed = typed
        return options

    def _typed(self, words: Sequence[str]) -> list[str]:
        """Returns the flags among the words. Refuses unknown flags, and flags that are given twice, of which argparse
        would silently take the last."""
        known = self._option_string_actions
        typed: list[str] = []
        # Options of training are the likeliest mistake of those who come from there.
        for word in words:
            if re.match(r"search(\.\w+)?=", word):
                self.error(f"{shown(word)} is how mt train has it: write a flag here, as --search beam --beam 5")
        for name in _flags(words):
            if name not in known:
                new = RENAMED.get(name, "")
                if " " in new or new in known:
                    self.error(f"{name} is gone: write {new}")
                # An option of search may be called as in YAML: --beam-size for --beam.
                option = f"search.{name[2:].replace('-', '_')}"
                meant = next((flag for flag, action in known.items() if action.dest == option), name)
                self.error(f"unknown option {shown(name)}: {nearest(meant, (flag for flag in known if len(flag) > 2))}")
            # By its first spelling, since `--plot-words` and `--no-plot-words` are one option.
            flag = known[name].option_strings[0]
            if flag in typed:
                self.error(f"{flag} is given more than once: give it once")
            typed.append(flag)
        return typed

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # argparse asks this private method, whose own message has all choices and not the nearest one.
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
        """Rewrites a message of `argparse`, which begins with the argument that it is about."""
        about, _, complaint = message.partition(": ")
        if about.endswith("arguments are required"):
            needed = " ".join([self.prog, *(_written(action) for action in self._actions if action.required)])
            return f"{' and '.join(complaint.split(', '))} missing: write {needed}"
        # Other messages are `argument --beam: ...` or `argument RUN: ...`.
        # An option with several spellings is named by all of them, as `--plot-words/--no-plot-words`.
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


def typed_flags(options: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """Returns the flags of the named options that are on the command line."""
    return [flag for name in names if (flag := f"--{name.replace('_', '-')}") in options.typed]


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """Returns a converter for `argparse`: of whole numbers within bounds."""

    def convert(text: str) -> int:
        # `int` alone would take `1_000` and the digits of other scripts, and has an error of its own for very many.
        if not re.fullmatch(r"[+-]?\d{1,30}", text, re.ASCII) or not lowest <= int(text) <= highest:
            raise argparse.ArgumentTypeError(f"{_value(text)} is not a whole number from {lowest} to {highest}")
        return int(text)

    return convert


def number_of(kind: type[int] | type[float]) -> Callable[[str], float]:
    """Returns a converter for `argparse`: of numbers of a kind."""
    words = "a whole number" if kind is int else "a number"

    def convert(text: str) -> float:
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{_value(text)} is not possible: give {words}") from None

    return convert


def share(text: str) -> float:
    """Converts for `argparse`: a number from 0 to 1."""
    value = number_of(float)(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is no share: give a number from 0 to 1")
    return value


def _path(text: str) -> Path:
    # Path("") is the folder that one stands in, which nobody means by an empty variable of a shell.
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"{_value(text)} names no file and no folder: give a path")
    return Path(text)


def _value(text: str) -> str:
    return shown(text) or repr("")


def _started_as() -> str:
    """Returns how the user started this process: `mt score`, or `python scripts/score.py`."""
    program = sys.argv[0]
    if Path(program).name in ("mt", "__main__.py") and len(sys.argv) > 1:
        return f"{'mt' if Path(program).name == 'mt' else 'python -m mt'} {sys.argv[1]}"
    return f"python {program}" if program.endswith(".py") else Path(program).name


def _flags(words: Sequence[str]) -> Iterator[str]:
    """Yields the flags among the words of a command line, without their values."""
    for word in words:
        if word == "--":
            return
        # A minus alone is standard input, and -1 is a number.
        # A word with a blank is a value to argparse, too, such as a phrase that begins with a dash.
        if word.startswith("-") and word != "-" and " " not in word and not _NUMBER.fullmatch(word):
            yield word.partition("=")[0]


def _written(action: argparse.Action) -> str:
    """Returns how to write an argument, such as `--beam K`, or `RUN ...`."""
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    several = " ..." if action.nargs in ("+", "*") else ""
    return " ".join([*action.option_strings[:1], f"{value}{several}"])
