"""Writes the pages of the reference from the code.

Options come from their classes and presets, commands from their help, and the Python API from its docstrings."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import mt
from mt.__main__ import VERBS
from scripts.options import options_page

ROOT = Path(__file__).parents[1]


def write_reference(folder: Path) -> None:
    """Writes the pages into a folder. A page that has not changed keeps its time, so that it is not built again."""
    folder.mkdir(exist_ok=True)
    for name, page in {"options": options_page, "commands": commands_page, "python": python_page}.items():
        path = folder / f"{name}.md"
        text = page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


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
