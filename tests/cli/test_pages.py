"""Each command of the pages parses: its flags, options and choices exist, and its values are possible."""

import argparse
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mt.__main__ import VERBS, call as call_verb
from mt.cli.parser import Parser
from mt.common.options import parse
from mt.config import Config

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "reference")]
COMPOSED = {"train.py": "train", "-m data_prep": "prepare"}
COMMAND = re.compile(
    r"(?:.*[|;] *)?(?:\w+=\S+ )*(?:\.venv/bin/)?(?:python (?P<composed>train\.py|-m data_prep)"
    r"|python scripts/(?P<script>\w+)\.py|(?:python -m )?mt (?P<verb>\w+))(?: (?P<rest>.*))?"
)


BEGIN = ["README", "quick-start", "commands", *(page.stem for page in (ROOT / "docs" / "tutorials").glob("*.md"))]
"""The pages whose configurations are composed, too, which takes some tenths of a second each."""


class ParsedError(Exception):
    """Raised in place of what a command does."""


def code(page: str) -> Iterator[str]:
    """Yields the logical lines of code. What stands behind two blanks explains a command."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    text = "\n".join([*re.findall(r"^ {4,}(.*)$", page, re.MULTILINE), *blocks])
    for line in re.sub(r" *\\\n\s*", " ", text).splitlines():
        yield re.split(r"\s{2,}|\s+# ", line.strip())[0]


def commands(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yields the verb and the words of each command that stands in full; variables have the values of the page."""
    variables: dict[str, str] = {}
    for line in code(page):
        filled = re.sub(r"\$(\w+)", lambda name: variables.get(name[1], name[1]), line)
        if match := re.fullmatch(r'(\w+)="(.*)"', filled):
            variables[match[1]] = match[2]
        elif (match := COMMAND.fullmatch(filled)) and not re.search(r"\.\.\.|\[-|launcher|--config-path", filled):
            words = re.split(r" [<>|] ?| && |; ", match["rest"] or "")[0].replace("SEED", "1")
            yield COMPOSED.get(match["composed"] or "") or match["script"] or match["verb"], shlex.split(words)


def parsed(self: Parser, args: Sequence[str] | None = None) -> argparse.Namespace:
    original(self, args)
    raise ParsedError


original = Parser.parse_args


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if page.stem in BEGIN[1:] else (), id=page.stem) for page in PAGES],
)
def test_each_command_parses(page: Path, call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mt.cli.run_folders.checkpoint", SimpleNamespace(locate=lambda *_: None))  # RUN is no run
    for verb, words in commands(page.read_text(encoding="utf-8")):
        if verb in ("train", "prepare"):
            if page.stem not in BEGIN:
                continue
            jobs = call(*words, name="config" if verb == "train" else "data_prep")
            assert jobs, words
            for plain, _ in jobs if verb == "train" else []:
                run = {option: plain.pop(option) for option in ("resume", "folder", "corpora")}
                if not run["resume"] and not plain["init_from"]:  # whose options would be those of a run
                    parse(plain, Config)
        elif verb in VERBS.keys() - {"train", "prepare"}:
            with monkeypatch.context() as patched, pytest.raises(ParsedError):
                patched.setattr(Parser, "parse_args", parsed)
                call_verb(verb, words)


def test_commands_are_found() -> None:
    lines = ('D="a=1 b=2"', "python train.py $D \\", "    c=3    # more", "x | mt translate RUN < f", "mt get ...")
    page = "\n\n" + "".join(f"    {line}\n" for line in lines)
    assert [*commands(page)] == [("train", ["a=1", "b=2", "c=3"]), ("translate", ["RUN"])]
