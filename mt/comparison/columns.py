"""Formats columns as a table: for a terminal, in Markdown, for LaTeX, and as CSV."""

import csv
import io
import math
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from tabulate import tabulate

from mt.errors import visible

# Characters that Markdown reads as markup; underscores only at the beginning or end of a word.
_MARKUP = re.compile(r"[\\`*\[\]~]|(?<!\w)_|_(?!\w)")


class Column(NamedTuple):
    """A column of a table of runs."""

    heading: str
    cells: Sequence[str]
    """The text of each row; `-` if the run's files do not hold the value."""
    values: Sequence[float | None] = ()
    """The number of each row; empty for a column of text."""
    higher_is_better: bool | None = None
    """None if neither direction is better."""

    def best(self) -> set[int]:
        """Returns the rows with the best value; no row if neither direction is better, or if all values are equal."""
        # Values that are missing or not finite do not compete.
        known = {i: value for i, value in enumerate(self.values) if value is not None and math.isfinite(value)}
        if self.higher_is_better is None or len(set(known.values())) < 2:
            return set()
        best = max(known.values()) if self.higher_is_better else min(known.values())
        return {i for i, value in known.items() if value == best}


def as_text(columns: Sequence[Column]) -> list[str]:
    """Returns the lines of a table for a terminal. The first two columns hold text, the others numbers."""
    return _table(columns, visible)


def as_markdown(columns: Sequence[Column]) -> list[str]:
    """Returns the same lines for Markdown, with all texts escaped."""
    return _table(columns, lambda cell: escaped(cell).replace("|", "\\|"))


def _table(columns: Sequence[Column], written: Callable[[str], str]) -> list[str]:
    cells = [[written(cell) for cell in column.cells] for column in columns]
    return _laid_out([written(column.heading) for column in columns], cells, "pipe").splitlines()


def _laid_out(headings: Sequence[str], cells: Sequence[Sequence[str]], form: str) -> str:
    # Numbers are text already: tabulate must not parse them and drop their last zeros.
    sides = ("left", "left", *("right" for _ in headings[2:]))
    return tabulate(zip(*cells, strict=True), headings, form, colalign=sides, disable_numparse=True)


def as_latex(columns: Sequence[Column]) -> list[str]:
    """Returns the lines of a `tabular` for LaTeX's package booktabs, with the best value of each column in bold."""
    best = [column.best() for column in columns]
    cells = [
        [f"\0{visible(cell)}\1" if place in rows else visible(cell) for place, cell in enumerate(column.cells)]
        for column, rows in zip(columns, best, strict=True)
    ]
    table = _laid_out([visible(column.heading) for column in columns], cells, "latex_booktabs")
    # tabulate would escape a command, so that commands replace the marks after it.
    return table.replace("\0", "\\textbf{").replace("\1", "}").splitlines()


def as_csv(rows: Sequence[Sequence[str | float | None]]) -> str:
    """Returns rows for a spreadsheet, as in RFC 4180 except for the ends of lines; None is an empty cell. A text that
    a spreadsheet would run as a formula gets an apostrophe in front."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        # Only texts get an apostrophe: a negative number is no formula.
        texts = [visible(cell) if isinstance(cell, str) else cell for cell in row]
        writer.writerow([f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@" else cell for cell in texts])
    return text.getvalue()


def escaped(text: str) -> str:
    """Escapes text for Markdown and HTML."""
    return _MARKUP.sub(r"\\\g<0>", escape(visible(text), quote=False))
